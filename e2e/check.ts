// The first tests of a change, in seconds: `npm run check`. It caches its results, and says what it leaves out.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { checkStages, leftOut, typeProjects, type Scripts } from './runner/check-stages.ts';
import { useCompileCache } from './runner/compile-cache.ts';
import { runTests } from './runner/main.ts';
import { isUnchanged, notePassed } from './runner/unchanged-types.ts';

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
const beganAtMs = Date.now();
const projects = typeProjects(scripts);
const unchanged = projects.filter((project) => isUnchanged(project, process.cwd()));
useCompileCache();
await runTests(checkStages(scripts, { changed, exists: existsSync, unchanged }));
if (process.exitCode === 0) notePassed(projects, beganAtMs);
process.stdout.write(`${leftOut}\n`);
