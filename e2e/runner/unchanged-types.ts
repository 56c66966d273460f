import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** A project of tsc, by the folder of its tsconfig.json, and the build information that tsc keeps of it. */
export interface TypeProject {
  readonly folder: string;
  readonly buildInfo: string;
}

/** The time at which the last check began that has passed. */
const stampOf = ({ buildInfo }: TypeProject): string => `${buildInfo}.passed`;

/**
 * Whether nothing that tsc reads of a project has changed since a check that has passed: files, imported ones included, their
 * folders, which tell of new files, and the configuration. tsc itself would parse everything to find that out, and `tsc --build`
 * does not notice a change of a file that is imported from outside the project. What is below node_modules is left out: `npm ci`
 * removes the cache too.
 */
export function isUnchanged(project: TypeProject, root: string): boolean {
  try {
    const passedAtMs = Number(readFileSync(stampOf(project), 'utf8'));
    const files = filesOf(project.buildInfo).filter((path) => isOwn(path, root));
    const configs = [join(root, 'tsconfig.json'), join(root, project.folder, 'tsconfig.json')];
    const paths = new Set([
      ...files,
      ...configs,
      ...files.flatMap((path) => foldersOf(path, root)),
    ]);
    // The time of a change of the inode: also a file that comes from elsewhere, with an older time of its own, has a new one.
    return files.length > 0 && [...paths].every((path) => statSync(path).ctimeMs < passedAtMs);
  } catch {
    // No check has passed yet, or a file is gone.
    return false;
  }
}

/** Notes that a check of some projects has passed. @param beganAtMs - what changes from then on counts as changed. */
export function notePassed(projects: readonly TypeProject[], beganAtMs: number): void {
  for (const project of projects) {
    mkdirSync(dirname(project.buildInfo), { recursive: true });
    writeFileSync(stampOf(project), String(beganAtMs));
  }
}

function filesOf(buildInfo: string): readonly string[] {
  const { fileNames = [] } = JSON.parse(readFileSync(buildInfo, 'utf8')) as {
    readonly fileNames?: readonly string[];
  };
  return fileNames.map((name) => resolve(dirname(buildInfo), name));
}

function isOwn(path: string, root: string): boolean {
  const inside = relative(root, path);
  return !inside.startsWith('..') && !inside.startsWith('node_modules');
}

function foldersOf(path: string, root: string): string[] {
  const folder = dirname(path);
  return relative(root, folder) === '' ? [] : [folder, ...foldersOf(folder, root)];
}
