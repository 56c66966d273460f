// What the tests of a change begin with, in seconds: `npm run check`. It keeps what it has found, and says what it leaves out.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { checkStages, leftOut, type Scripts } from './runner/check-stages.ts';
import { useCompileCache } from './runner/compile-cache.ts';
import { runTests } from './runner/main.ts';

function linesOfGit(...args: readonly string[]): readonly string[] {
  return execFileSync('git', args, { encoding: 'utf8' }).split('\n').slice(0, -1);
}

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly scripts: Scripts;
};
const changed = [
  ...linesOfGit('diff', '--name-only', '--relative', 'HEAD'),
  ...linesOfGit('ls-files', '--others', '--exclude-standard'),
];
useCompileCache();
await runTests(checkStages(scripts, changed, existsSync));
process.stdout.write(`${leftOut}\n`);
