import assert from 'node:assert/strict';
import { errorText } from './api-causes.ts';

describe('errorText', () => {
  const uri = 'mongodb://user:secret@host/';
  const pod = {
    name: 'orders-syncer-0',
    process: 'a',
    ip: '127.0.0.1',
    isReady: true,
    image: undefined,
    cause: undefined,
  };

  function textOf(description: string): string {
    const error = { name: 'X1', description, isLasting: true } as const;
    const answer = { kind: 'error', error, atMs: 0 } as const;
    return errorText({ pod, observation: { answer, unreachable: undefined } }, 0) ?? '';
  }

  it('keeps connection strings out of what a pod has answered', () => {
    assert.equal(textOf(`no ${uri}`), 'X1: no mongodb://<credentials>@host/');
  });

  it('has 4,096 characters at most, and no half of a password', () => {
    assert.equal(textOf('x'.repeat(100_000)).length, 4096);
    for (let before = 4096 - uri.length - 8; before <= 4096; before++) {
      const text = textOf(`${'x'.repeat(before)} ${uri}`);
      assert.doesNotMatch(text, /user|secret/);
      assert.ok(text.length <= 4096);
    }
  });
});
