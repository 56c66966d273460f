import { mocha } from './run-files.ts';
import type { Stage } from './run-stages.ts';

/** The scripts of package.json that a check runs. */
export type Scripts = Readonly<Record<'typecheck' | 'lint' | 'format:check', string>>;

/** Git ignores it, and `npm ci` removes it: other versions of the tools begin without. */
const cacheFolder = 'node_modules/.cache';

/** What lets a program keep what it has found; `id` tells one of its commands from another. */
const cacheOptions: Readonly<Record<string, (id: number) => readonly string[]>> = {
  // It knows a file by its content, and looks again at those that another one's types have reached. That these are the same
  // it knows only by the declarations that it has written: without them, all that import a file are checked again once. So
  // what is exported needs a type that a declaration can name (TS4023).
  tsc: (id) => [
    ...['--incremental', '--tsBuildInfoFile', `${cacheFolder}/tsc/${id}.tsbuildinfo`],
    ...['--noEmit', 'false', '--declaration', '--emitDeclarationOnly'],
    ...['--rootDir', '.', '--outDir', `${cacheFolder}/tsc/${id}`],
  ],
  // It knows a file by its content alone: see leftOut.
  eslint: () => [
    '--cache',
    '--cache-strategy=content',
    `--cache-location=${cacheFolder}/eslint/results`,
  ],
  prettier: () => ['--cache', `--cache-location=${cacheFolder}/prettier/results`],
};

/**
 * What a check leaves out. With a cache, eslint looks only at files that have changed themselves: what rules that ask for types
 * would say elsewhere, it does not see (https://github.com/typescript-eslint/typescript-eslint/issues/4694).
 */
export const leftOut =
  'Left out: lint of files whose imports alone have changed (npm run lint), unit tests of other files (npm run test:unit),\n' +
  'unused code, integration and end-to-end tests, the soak (npm test).';

/**
 * The stages of a check: the commands that lint and types consist of, each with a cache, and the unit tests that have changed, or
 * that are beside what has changed.
 * @param changed - paths from the root of the checkout, of files that may be gone.
 */
export function checkStages(
  scripts: Scripts,
  changed: readonly string[],
  exists: (path: string) => boolean,
): readonly Stage[] {
  const commands = [scripts.typecheck, scripts.lint, scripts['format:check']]
    .flatMap((script) => script.split(' && '))
    .map((command, index): Stage => {
      const [program = '', ...args] = command.split(' ');
      const options = cacheOptions[program];
      if (options === undefined) throw new Error(`no cache is known of ${program}`);
      return stage(command, [`node_modules/.bin/${program}`, ...args, ...options(index)]);
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

function stage(name: string, command: Stage['command']): Stage {
  return { name, work: { kind: 'check' }, isBeside: true, command, limitSeconds: 600 };
}
