import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ObjectStore } from './object-store.ts';
import { objectKey, type KubeObject } from './resource.ts';

interface Thing extends KubeObject {
  readonly tags: readonly string[];
}

function thing(name: string, version: number, tags: readonly string[] = [], uid = 'u'): Thing {
  return {
    apiVersion: 'v1',
    kind: 'Thing',
    metadata: { namespace: 'n', name, resourceVersion: String(version), uid },
    tags,
  };
}

function newStore(): ObjectStore<Thing, 'tag'> {
  return new ObjectStore<Thing, 'tag'>({ tag: ({ tags }) => tags });
}

describe('ObjectStore', () => {
  it('tells what became of an object', () => {
    const store = newStore();
    const one = thing('a', 1);
    const two = thing('a', 2);
    assert.deepEqual(store.put(one), { kind: 'added', object: one });
    assert.deepEqual(store.put(two), { kind: 'updated', object: two, old: one });
    assert.equal(store.put(thing('a', 2)), undefined);
    assert.deepEqual(store.remove('n/a'), { kind: 'deleted', object: two });
    assert.equal(store.remove('n/a'), undefined);
  });

  it('takes a namesake that was made later for another version', () => {
    const store = newStore();
    store.put(thing('a', 1, [], 'u1'));
    assert.equal(store.put(thing('a', 1, [], 'u2'))?.kind, 'updated');
  });

  it('finds the events that were missed', () => {
    const store = newStore();
    store.replace([thing('a', 1), thing('b', 1), thing('c', 1)]);
    const events = store.replace([thing('b', 1), thing('c', 2), thing('d', 3)]);
    assert.deepEqual(
      events.map(({ kind, object }) => `${kind} ${object.metadata.name}`),
      ['deleted a', 'updated c', 'added d'],
    );
  });

  it('has indexes that always agree with the objects', () => {
    const tags = fc.uniqueArray(fc.constantFrom('x', 'y', 'z'));
    const name = fc.constantFrom('a', 'b', 'c');
    const command = fc.oneof(
      fc.record({ put: name, tags }),
      fc.record({ remove: name }),
      fc.record({ replace: fc.uniqueArray(fc.tuple(name, tags), { selector: ([each]) => each }) }),
    );
    fc.assert(
      fc.property(fc.array(command), (commands) => {
        const store = newStore();
        let version = 0;
        for (const each of commands) {
          version += 1;
          if ('put' in each) store.put(thing(each.put, version, each.tags));
          else if ('remove' in each) store.remove(`n/${each.remove}`);
          else store.replace(each.replace.map(([of, with_]) => thing(of, version, with_)));
        }
        const keys = (things: readonly Thing[]): string[] =>
          things.map(({ metadata }) => objectKey(metadata)).sort();
        for (const tag of ['x', 'y', 'z']) {
          const wanted = store.list().filter((each) => each.tags.includes(tag));
          assert.deepEqual(keys(store.byIndex('tag', tag)), keys(wanted));
        }
      }),
    );
  });
});
