import assert from 'node:assert/strict';
import fc from 'fast-check';
import { FairQueue } from './fair-queue.ts';

/** Takes until nothing is left to take; each key is done at once. */
function takeAll(queue: FairQueue): string[] {
  const taken: string[] = [];
  for (let key; (key = queue.take()) !== undefined;) {
    taken.push(key);
    queue.done(key);
  }
  return taken;
}

const spaceOf = (key: string): string => key.split('/')[0] ?? '';

interface Case {
  readonly what: string;
  readonly keys: readonly string[];
  /** Of the keys. */
  readonly urgent?: readonly string[];
  readonly order: readonly string[];
}

const cases: readonly Case[] = [
  {
    what: 'takes turns, and keeps the order within a namespace',
    keys: ['a/1', 'a/2', 'a/3', 'b/1', 'c/1', 'b/2'],
    order: ['a/1', 'b/1', 'c/1', 'a/2', 'b/2', 'a/3'],
  },
  {
    what: 'lets the urgent keys of a namespace pass its own keys, and nobody else',
    keys: ['a/1', 'a/2', 'b/1', 'b/2'],
    urgent: ['b/2'],
    order: ['a/1', 'b/2', 'a/2', 'b/1'],
  },
  {
    what: 'gives no more turns to the namespace whose keys are all urgent',
    keys: ['a/1', 'a/2', 'a/3', 'b/1'],
    urgent: ['a/1', 'a/2', 'a/3'],
    order: ['a/1', 'b/1', 'a/2', 'a/3'],
  },
  {
    what: 'has keys of the cluster in a turn of their own',
    keys: ['a/1', 'a/2', 'node', 'other-node'],
    order: ['a/1', 'node', 'a/2', 'other-node'],
  },
];

describe('FairQueue', () => {
  for (const { what, keys, urgent = [], order } of cases) {
    it(what, () => {
      const queue = new FairQueue();
      for (const key of keys) queue.add(key);
      for (const key of urgent) queue.add(key, true);
      assert.equal(queue.size, keys.length);
      assert.deepEqual(takeAll(queue), order);
      assert.deepEqual([queue.size, queue.namespaces], [0, 0]);
    });
  }

  it('lets one that is not urgent wait for eight that are, however many come', () => {
    const queue = new FairQueue();
    queue.add('a/last');
    let before = 0;
    for (let key; key !== 'a/last'; before += 1) {
      for (let count = 0; count < 3; count += 1) queue.add(`a/${before}-${count}`, true);
      key = queue.take();
    }
    assert.equal(before, 9);
  });

  const key = fc
    .tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.nat(4))
    .map(([namespace, name]) => `${namespace}/${name}`);

  it('takes a key after one of each other namespace, where it is the only one of its own', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(key, fc.boolean())), fc.nat(30), (adds, taken) => {
        const queue = new FairQueue();
        for (const [each, isUrgent] of adds) queue.add(each, isUrgent);
        for (let count = 0; count < taken; count += 1) {
          const each = queue.take();
          if (each === undefined) break;
          queue.done(each);
          queue.add(each, true);
        }
        const others = queue.namespaces;
        queue.add('quiet/one');
        const before: string[] = [];
        for (let each; (each = queue.take()) !== 'quiet/one';) {
          assert.ok(each !== undefined);
          before.push(spaceOf(each));
        }
        assert.equal(before.length, others);
        assert.equal(new Set(before).size, others);
      }),
    );
  });

  it('gives every key that is added, never one that is in hand, and one more time what is added then', () => {
    const step = fc.oneof(
      fc.record({ add: key, isUrgent: fc.boolean() }),
      fc.constant('take' as const),
      fc.record({ done: fc.nat(9) }),
      fc.record({ delete: key }),
    );
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 100 }),
        fc.integer({ min: 1, max: 3 }),
        (steps, max) => {
          const queue = new FairQueue(max);
          const inHand: string[] = [];
          const owed = new Set<string>();
          const perNamespace = (namespace: string): number =>
            inHand.filter((each) => spaceOf(each) === namespace).length;
          const mayGive = (each: string): boolean =>
            !inHand.includes(each) && perNamespace(spaceOf(each)) < max;
          const take = (): void => {
            const taken = queue.take();
            assert.equal(taken !== undefined, [...owed].some(mayGive));
            if (taken === undefined) return;
            assert.ok(mayGive(taken) && owed.delete(taken), taken);
            inHand.push(taken);
          };
          const finish = (at: number): void => {
            const [each] = inHand.splice(at, 1);
            if (each !== undefined) queue.done(each);
          };
          for (const each of steps) {
            if (each === 'take') take();
            else if ('done' in each) finish(each.done % Math.max(1, inHand.length));
            else if ('delete' in each) {
              queue.delete(each.delete);
              owed.delete(each.delete);
            } else {
              queue.add(each.add, each.isUrgent);
              owed.add(each.add);
            }
            for (const held of inHand) assert.ok(queue.isInHand(held));
            assert.equal(queue.size, [...owed].filter((one) => !inHand.includes(one)).length);
          }
          while (owed.size + inHand.length > 0) {
            if (inHand.length > 0) finish(0);
            take();
          }
          assert.deepEqual([queue.size, queue.namespaces], [0, 0]);
        },
      ),
    );
  });
});
