import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { bashScript, fishScript, zshScript } from './scripts.ts';
import type { CompletionCommand } from './commands.ts';

describe('the completion script, in bash', () => {
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

// How the shells treat them is tested in e2e/integration/cli/completion.integration.ts.
describe('the completion scripts of other shells', () => {
  const commands: readonly CompletionCommand[] = [
    { path: '', commands: ['run', 'verifier'], flags: [{ name: '--help', value: 'none' }] },
    {
      path: 'run',
      commands: [],
      flags: [
        { name: '--output', value: ['text', 'json'] },
        { name: '--source', value: 'any' },
        { name: '--source-file', value: 'file' },
      ],
    },
    { path: 'verifier', commands: ['report'], flags: [] },
  ];

  it('zsh: has the words and values of each command, and works sourced or from fpath', () => {
    const lines = zshScript('kubectl-clustersync', commands).split('\n');
    assert.equal(lines[0], '#compdef kubectl-clustersync');
    for (const line of [
      `      'run'|'verifier') line="\${line:+$line }$word" ;;`,
      `    'run --output') compadd -- 'text' 'json'; return ;;`,
      `    'run --source') return ;;`,
      `    'run --source-file') _files; return ;;`,
      `    '') compadd -- 'run' 'verifier' '--help' ;;`,
      `    'run') compadd -- '--output' '--source' '--source-file' ;;`,
      `    'verifier') compadd -- 'report' ;;`,
    ]) {
      assert.ok(lines.includes(line), line);
    }
    assert.ok(lines.at(-2)?.includes('compdef _kubectl_clustersync kubectl-clustersync'));
  });

  it('fish: has the words and values of each command', () => {
    const script = fishScript('clustersync', commands);
    for (const part of [
      `case 'run' 'verifier'\n`,
      `case 'run --output'\n            printf '%s\\n' 'text' 'json'\n            return\n`,
      `case 'run --source'\n            return\n`,
      `case 'run --source-file'\n            __fish_complete_path (commandline -ct)\n`,
      `case ''\n            printf '%s\\n' 'run' 'verifier' '--help'\n`,
      `complete -c clustersync -f -a '(__clustersync_words)'\n`,
    ]) {
      assert.ok(script.includes(part), part);
    }
  });
});
