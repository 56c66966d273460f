import { mocha } from './run-files.ts';
import type { Stage } from './run-stages.ts';
import type { TypeProject } from './unchanged-types.ts';

/** The scripts of package.json that a check runs. */
export type Scripts = Readonly<Record<'typecheck' | 'lint' | 'format:check', string>>;

/** Ignored by Git, and removed by `npm ci`: other versions of the tools start without it. */
const cacheFolder = 'node_modules/.cache';

/** The options that give a program a cache; `id` distinguishes its commands. */
const cacheOptions: Readonly<Record<string, (id: number) => readonly string[]>> = {
  // It identifies a file by its content, and checks those again that the types of a changed file affect. It compares these types
  // by the declarations that it has written: without declarations, all files that import a changed one would be checked again.
  // Exports therefore need a type that a declaration can name (TS4023).
  tsc: (id) => [
    ...['--incremental', '--tsBuildInfoFile', buildInfoOf(id)],
    ...['--noEmit', 'false', '--declaration', '--emitDeclarationOnly'],
    ...['--rootDir', '.', '--outDir', `${cacheFolder}/tsc/${id}`],
  ],
  // It identifies a file by its content only: see leftOut.
  eslint: () => [
    '--cache',
    '--cache-strategy=content',
    `--cache-location=${cacheFolder}/eslint/results`,
  ],
  prettier: () => ['--cache', `--cache-location=${cacheFolder}/prettier/results`],
};

/**
 * What a check leaves out. With a cache, eslint checks only files that have changed themselves, and misses errors that a changed
 * type causes elsewhere (https://github.com/typescript-eslint/typescript-eslint/issues/4694).
 */
export const leftOut =
  'Left out: lint of files whose imports alone have changed (npm run lint), unit tests of other files (npm run test:unit),\n' +
  'unused code, integration and end-to-end tests, the soak (npm test).';

/** The projects whose types a check covers. */
export function typeProjects(scripts: Scripts): readonly TypeProject[] {
  return commandsOf(scripts).flatMap(({ program, args, id }) => {
    const folder = args[args.indexOf('-p') + 1];
    if (program !== 'tsc') return [];
    return [{ folder: args.includes('-p') && folder ? folder : '.', buildInfo: buildInfoOf(id) }];
  });
}

/** What a check depends on. */
export interface CheckedState {
  /** Paths of changed files, which may be gone, from the root of the checkout. */
  readonly changed: readonly string[];
  readonly exists: (path: string) => boolean;
  /** Projects that need no check of types. */
  readonly unchanged: readonly TypeProject[];
}

/**
 * The stages of a check: the commands of the scripts for lint, types and format, each with a cache, and the unit tests that have
 * changed, or that belong to changed files. The slowest command comes first.
 */
export function checkStages(
  scripts: Scripts,
  { changed, exists, unchanged }: CheckedState,
): readonly Stage[] {
  const skipped = unchanged.map(({ buildInfo }) => buildInfo);
  const commands = commandsOf(scripts)
    .filter(({ program, id }) => program !== 'tsc' || !skipped.includes(buildInfoOf(id)))
    .map(({ command, program, args, id }): Stage => {
      const options = cacheOptions[program];
      if (options === undefined) throw new Error(`no cache is known of ${program}`);
      return stage(command, [`node_modules/.bin/${program}`, ...args, ...options(id)]);
    });
  const tests = new Set(
    changed
      .filter((path) => path.endsWith('.ts'))
      .map((path) => path.replace(/(\.test)?\.ts$/, '.test.ts'))
      .filter((path) => exists(path)),
  );
  if (tests.size === 0) return commands;
  const mochaCommand: Stage['command'] = [process.execPath, mocha, ...tests];
  const name = `unit tests: ${[...tests].join(' ')}`;
  return [...commands, { ...stage(name, mochaCommand), work: { kind: 'mocha' } }];
}

interface ScriptCommand {
  readonly command: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Its place among all commands. */
  readonly id: number;
}

function commandsOf(scripts: Scripts): readonly ScriptCommand[] {
  return [scripts.lint, scripts.typecheck, scripts['format:check']]
    .flatMap((script) => script.split(' && '))
    .map((command, id) => {
      const [program = '', ...args] = command.split(' ');
      return { command, program, args, id };
    });
}

function buildInfoOf(id: number): string {
  return `${cacheFolder}/tsc/${id}.tsbuildinfo`;
}

function stage(name: string, command: Stage['command']): Stage {
  return { name, work: { kind: 'check' }, isBeside: true, command, limitSeconds: 600 };
}
