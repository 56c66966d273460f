import assert from 'node:assert/strict';
import { PostponedKeys } from './postponed-keys.ts';

describe('postponed keys', () => {
  it('are queued when their namespace becomes known; those that are cached, when it becomes unknown', () => {
    const known = new Set(['a']);
    const cached: string[] = [];
    const added: string[] = [];
    let tell = (): void => undefined;
    const postponed = new PostponedKeys({
      watched: {
        isKnown: (namespace) => known.has(namespace),
        isUnseen: (namespace) => namespace !== 'foreign' && !known.has(namespace),
        onChange: (listener) => {
          tell = listener;
        },
      },
      cached: () => cached,
      add: (key) => added.push(key),
    });
    assert.equal(postponed.postpone('a/one'), false);
    assert.equal(postponed.postpone('b/one'), true);
    assert.equal(postponed.postpone('b/gone'), true);
    assert.equal(postponed.postpone('foreign/one'), true);
    cached.push('a/one', 'b/one');
    tell();
    assert.deepEqual(added, [], 'they wait already');
    known.add('b');
    tell();
    assert.deepEqual(added.splice(0), ['b/one', 'b/gone']);
    known.add('foreign');
    tell();
    assert.deepEqual(added, [], 'keys of namespaces of others are not kept');
    tell();
    assert.deepEqual(added, []);
    known.delete('a');
    tell();
    assert.deepEqual(added.splice(0), ['a/one']);
    assert.equal(postponed.postpone('a/one'), true);
    known.add('a');
    tell();
    assert.deepEqual(added, ['a/one']);
  });
});
