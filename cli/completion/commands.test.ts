import assert from 'node:assert/strict';
import { type CompletionCommand, offerFor, type Offer } from './commands.ts';

const namespace = { name: '--namespace', value: 'any' } as const;
const output = { name: '--output', value: ['text', 'json'] } as const;
const kubeconfig = { name: '--kubeconfig', value: 'file' } as const;
const follow = { name: '--follow', value: 'none' } as const;
const commands: readonly CompletionCommand[] = [
  { path: '', commands: ['list', 'logs'], flags: [{ name: '--help', value: 'none' }] },
  { path: 'list', commands: [], flags: [output, namespace] },
  { path: 'logs', commands: [], flags: [follow, kubeconfig, namespace], hasArgument: true },
];

describe('offerFor', () => {
  const cases: readonly (readonly [readonly string[], Offer])[] = [
    [[''], { kind: 'words', words: ['list', 'logs', '--help'] }],
    [['lo'], { kind: 'words', words: ['logs'] }],
    [['list', '--o'], { kind: 'words', words: ['--output'] }],
    [['list', '--output', ''], { kind: 'words', words: ['text', 'json'] }],
    [['list', '--namespace', ''], { kind: 'words', words: [] }],
    [['logs', '--kubeconfig', 'x'], { kind: 'files' }],
    [['logs', 'sh'], { kind: 'argument', words: [] }],
    [['logs', '--follow', 'sh'], { kind: 'argument', words: [] }],
    [['logs', '--namespace', 'depot', 'sh'], { kind: 'argument', words: [] }],
    [['logs', 'shop', '--f'], { kind: 'words', words: ['--follow'] }],
    [[], { kind: 'words', words: ['list', 'logs', '--help'] }],
  ];
  for (const [words, expected] of cases) {
    it(`of ${JSON.stringify(words)}`, () => {
      assert.deepEqual(offerFor(commands, words), expected);
    });
  }
});
