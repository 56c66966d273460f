import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

/** What a file imports of this project's files at runtime. */
const imported =
  /^(?:import|export)\b(?!\s+type\b)[^;]*?from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gms;

/** Of each file, those that import it. Paths are from the root of the checkout. */
export type Importers = ReadonlyMap<string, readonly string[]>;

/** Reads the imports of all TypeScript files of a checkout. */
export function readImporters(root: string): Importers {
  const files = globSync('*/**/*.ts', { cwd: root, exclude: ['node_modules', 'dist'] });
  const importers = new Map<string, string[]>();
  for (const file of files) {
    for (const [, one, other] of readFileSync(posix.join(root, file), 'utf8').matchAll(imported)) {
      const target = posix.join(posix.dirname(file), one ?? other ?? '');
      importers.set(target, [...(importers.get(target) ?? []), file]);
    }
  }
  return importers;
}

/** The unit tests that import a module, directly or through others: the nearest first, and of those the one beside it. */
export function unitTestsOf(path: string, importers: Importers): readonly string[] {
  const seen = new Set([path]);
  let layer = [path];
  const tests: string[] = [];
  const beside = path.replace(/\.ts$/, '.test.ts');
  while (layer.length > 0) {
    const near = layer.filter((file) => file.endsWith('.test.ts')).sort();
    tests.push(
      ...near.filter((file) => file === beside),
      ...near.filter((file) => file !== beside),
    );
    layer = [...new Set(layer.flatMap((file) => importers.get(file) ?? []))];
    layer = layer.filter((file) => !seen.has(file));
    for (const file of layer) seen.add(file);
  }
  return tests;
}

/** What `make mutate-map` has recorded of an integration spec. */
export interface Recorded {
  /** How long it took. */
  readonly seconds: number;
  /** The modules of which its processes called a function. */
  readonly modules: readonly string[];
}

/** The recorded specs by their paths. */
export type Reach = Readonly<Record<string, Recorded>>;

/** Where they are kept. */
export const reachFile = new URL('reach.json', import.meta.url);

/** Reads what was recorded. */
export function readReach(): Reach {
  // Written by record-reach.ts alone.
  return JSON.parse(readFileSync(reachFile, 'utf8')) as Reach;
}

/** The recorded specs that reach a module, the fastest first. */
export function specsOf(
  path: string,
  reach: Reach,
): readonly (readonly [spec: string, seconds: number])[] {
  return Object.entries(reach)
    .filter(([, { modules }]) => modules.includes(path))
    .map(([spec, { seconds }]) => [spec, seconds] as const)
    .sort(([, one], [, other]) => one - other);
}
