import { existsSync, globSync } from 'node:fs';
import { useCompileCache } from './compile-cache.ts';
import { onInterruption } from './interruption.ts';
import { runCommand } from './run-command.ts';
import { okExit } from './tally.ts';

/** The program that runs tests, from the root of the checkout. */
export const mocha = 'node_modules/mocha/bin/mocha.js';

/** The end of a test file's name, and how files of that level are run. */
const configs = {
  '.test.ts': '.mocharc.json',
  '.integration.ts': 'e2e/integration.mocharc.json',
  '.e2e.ts': 'e2e/cluster.mocharc.json',
} as const;

/**
 * Runs test files of one level as a program: names of files, then options of mocha. With `--watch` first, it runs them again
 * whenever they, or what they import, have changed. Exit code 0 when the tests have passed, 130 when it was interrupted,
 * else 1.
 * @throws Error where there is no such file, or where the files are of several levels.
 */
export async function runFiles(args: readonly string[]): Promise<void> {
  const isWatching = args[0] === '--watch';
  const mochaArgs = mochaArgsOf(args.slice(isWatching ? 1 : 0));
  useCompileCache();
  const interruption = onInterruption();
  const watch = isWatching ? ['--watch', '--watch-preserve-output'] : [];
  const end = await runCommand([process.execPath, ...watch, mocha, ...mochaArgs], interruption);
  process.exitCode = interruption.aborted ? 130 : end === okExit ? 0 : 1;
}

/**
 * What mocha is called with for test files, each named by its path or by the end of it, and options that follow them.
 * @param find - the paths of the files that have this end.
 * @throws Error where there is no such file, or where the files are of several levels.
 */
export function mochaArgsOf(
  args: readonly string[],
  find: (end: string) => readonly string[] = filesEndingWith,
): readonly string[] {
  const firstOption = args.findIndex((arg) => arg.startsWith('-'));
  const names = firstOption === -1 ? args : args.slice(0, firstOption);
  if (names.length === 0) throw new Error('the name of a test file is missing');
  const files = names.flatMap((name) => {
    const found = find(name);
    if (found.length === 0) throw new Error(`there is no file ${name}`);
    return found;
  });
  const [config, ...others] = new Set(files.map(configOf));
  if (config === undefined || others.length > 0)
    throw new Error(`files of several levels cannot be run together: ${files.join(', ')}`);
  return ['--config', config, ...files, ...args.slice(names.length)];
}

function configOf(file: string): string {
  for (const [end, config] of Object.entries(configs)) if (file.endsWith(end)) return config;
  throw new Error(`${file} is no test file: those end in ${Object.keys(configs).join(', ')}`);
}

function filesEndingWith(end: string): readonly string[] {
  return existsSync(end)
    ? [end]
    : globSync(`**/${end}`, { exclude: ['node_modules', 'dist', '.git'] });
}
