import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { checkExitCode } from './check/exit-code.ts';
import { checkHelp, commandHelp, reportHelp, runHelp, statusHelp } from './help.ts';
import { runExitCode } from './run/options.ts';

const page = readFileSync(new URL('../docs/command-line.md', import.meta.url), 'utf8');

/** The exit codes of the table below a heading of the page. */
function codesBelow(heading: string): number[] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const [text = ''] = section.split('\n## ');
  return [...text.matchAll(/^\| (\d+) +\|/gm)].map(([, code]) => Number(code));
}

function codesIn(help: string): number[] {
  const [, list = ''] = help.split('Exit codes:\n');
  return [...list.matchAll(/^ {2}(\d+) /gm)].map(([, code]) => Number(code));
}

describe('the exit codes', () => {
  it('of clustersync run are the same in the help, in docs/command-line.md, and in truth', () => {
    const codes: number[] = Object.values(runExitCode);
    assert.deepEqual(codesIn(runHelp), codes);
    assert.deepEqual(codesBelow('clustersync run'), codes);
  });

  it('of clustersync check are the same in the help, in docs/command-line.md, and in truth', () => {
    const codes: number[] = Object.values(checkExitCode);
    assert.deepEqual(codesIn(checkHelp), codes);
    assert.deepEqual(codesBelow('clustersync check'), codes);
  });

  it('of the commands to syncers and verifiers are the same in the help and in docs/command-line.md', () => {
    const helps = [statusHelp, commandHelp.commit, reportHelp];
    const codes = [...new Set(helps.flatMap(codesIn))].sort((left, right) => left - right);
    assert.deepEqual(codes, [0, 1, 2, 3, 130, 141]);
    assert.deepEqual(codesBelow('Commands to running syncers and verifiers'), codes);
  });
});
