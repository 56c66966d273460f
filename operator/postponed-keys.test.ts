import assert from 'node:assert/strict';
import { PostponedKeys } from './postponed-keys.ts';

describe('postponed keys', () => {
  it('are queued when the operator may work in their namespace; those that are cached, when it no longer may', () => {
    const known = new Set(['a']);
    const cached: string[] = [];
    const added: string[] = [];
    let tell: (namespace?: string) => void = () => undefined;
    const postponed = new PostponedKeys({
      namespaces: {
        mayWork: (namespace) => known.has(namespace),
        mayLater: (namespace) => namespace !== 'foreign',
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
    assert.deepEqual(added.splice(0), ['a/one']);
    known.clear();
    tell('b');
    assert.deepEqual(added.splice(0), ['b/one']);
    tell('a');
    assert.deepEqual(added.splice(0), ['a/one']);
    assert.deepEqual([postponed.postpone('a/one'), postponed.postpone('b/one')], [true, true]);
    known.add('a').add('b');
    tell('a');
    assert.deepEqual(added, ['a/one'], 'those of the namespace that has changed');
  });
});
