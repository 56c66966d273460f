import assert from 'node:assert/strict';
import type { CompletionCommand } from './commands.ts';
import { fishScript } from './fish-script.ts';
import { zshScript } from './zsh-script.ts';

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

// How the shells treat them is tested in e2e/integration/cli/completion.integration.ts.
describe('the completion scripts of other shells', () => {
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
