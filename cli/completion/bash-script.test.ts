import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { bashScript } from './bash-script.ts';
import type { CompletionCommand } from './commands.ts';

const commands: readonly CompletionCommand[] = [
  { path: '', commands: ['run', 'verifier'], flags: [{ name: '--help', value: 'none' }] },
  {
    path: 'run',
    commands: [],
    flags: [
      { name: '--output', value: ['text', 'json'] },
      { name: '--source', value: 'any' },
      { name: '--source-file', value: 'file' },
      { name: '--dry-run', value: 'none' },
    ],
  },
  { path: 'verifier', commands: ['report'], flags: [] },
  { path: 'verifier report', commands: [], flags: [{ name: '--format', value: 'any' }] },
];

/** What bash offers for the last of the words, and what else the script asks bash to do. */
function offered(words: readonly string[]): string {
  const script = `compopt() { echo "compopt $*"; }
${bashScript('kubectl-clustersync', commands)}
COMP_WORDS=(kubectl-clustersync "$@"); COMP_CWORD=$#; _kubectl_clustersync; echo "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-uc', script, 'bash', ...words], { encoding: 'utf8' }).trim();
}

describe('the completion script, in bash', () => {
  const cases: readonly (readonly [readonly string[], string])[] = [
    [[''], 'run verifier --help'],
    [['r'], 'run'],
    [['run', '--o'], '--output'],
    [['run', '--output', ''], 'text json'],
    [['run', '--output', 'json', '--s'], '--source --source-file'],
    [['run', '--source', ''], ''],
    [['run', '--dry-run', '--dr'], '--dry-run'],
    [['verifier', ''], 'report'],
    [['verifier', 'report', ''], '--format'],
    // How bash treats that is tested in e2e/integration/cli/bash-completion.integration.ts.
    [['run', '--source-file', '/et'], 'compopt -o default'],
  ];
  for (const [words, expected] of cases) {
    it(`offers ${expected || 'nothing'} for ${JSON.stringify(words)}`, () => {
      assert.equal(offered(words), expected);
    });
  }

  for (const [version, before, option] of [
    ['a bash that has compopt', '', ''],
    ['bash 3.2, which has none', 'enable -n compopt; ', '-o default '],
  ] as const) {
    it(`leaves files to ${version}`, () => {
      const script = `${before}${bashScript('clustersync', commands)}complete -p clustersync`;
      const registered = execFileSync('bash', ['-uc', script], { encoding: 'utf8' });
      assert.equal(registered, `complete ${option}-F _clustersync clustersync\n`);
    });
  }
});
