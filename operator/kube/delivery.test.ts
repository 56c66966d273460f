import assert from 'node:assert/strict';
import { Delivery } from './delivery.ts';
import type { ObjectEvent } from './object-store.ts';
import type { KubeObject } from './resource.ts';
import { FakeClock } from './testing/fake-clock.ts';

function version(resourceVersion: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'a', resourceVersion } };
}

const one = version('1');
const two = version('2');
const three = version('3');

describe('Delivery', () => {
  let clock: FakeClock;
  let delivery: Delivery<KubeObject>;
  let taken: ObjectEvent<KubeObject>[];
  let errors: number;
  let isFailing: boolean;

  beforeEach(() => {
    clock = new FakeClock();
    taken = [];
    errors = 0;
    isFailing = false;
    delivery = new Delivery<KubeObject>(
      (event) => {
        if (isFailing) throw new Error('not now');
        taken.push(event);
      },
      { clock, random: () => 1, onError: () => (errors += 1) },
    );
  });

  it('delivers at once', () => {
    delivery.deliver({ kind: 'added', object: one });
    assert.deepEqual(taken, [{ kind: 'added', object: one }]);
    assert.equal(clock.pendingTimers, 0);
  });

  it('delivers again what failed, with a growing delay, until it is taken', async () => {
    isFailing = true;
    delivery.deliver({ kind: 'added', object: one });
    await clock.advance(800);
    await clock.advance(1600);
    assert.equal(errors, 3);
    isFailing = false;
    await clock.advance(3199);
    assert.deepEqual(taken, []);
    await clock.advance(1);
    assert.deepEqual(taken, [{ kind: 'added', object: one }]);
    assert.equal(clock.pendingTimers, 0);
  });

  const added = { kind: 'added', object: one } as const;
  const updated = { kind: 'updated', object: two, old: one } as const;
  const deleted = { kind: 'deleted', object: two } as const;
  const again = { kind: 'added', object: three } as const;
  const merges = [
    [[added, updated], [{ kind: 'added', object: two }]],
    [[added, updated, deleted], []],
    [[updated, deleted], [{ kind: 'deleted', object: one }]],
    [[deleted, again], [{ kind: 'updated', object: three, old: two }]],
    [[updated], [updated]],
    [[deleted], [deleted]],
  ] as const;
  for (const [failed, wanted] of merges) {
    it(`merges ${failed.map(({ kind }) => kind).join(', ')}`, async () => {
      isFailing = true;
      for (const event of failed) delivery.deliver(event);
      isFailing = false;
      await clock.advance(30_000);
      assert.deepEqual(taken, wanted);
    });
  }

  it('stops', async () => {
    isFailing = true;
    delivery.deliver(added);
    delivery[Symbol.dispose]();
    isFailing = false;
    await clock.advance(60_000);
    assert.deepEqual(taken, []);
    assert.equal(clock.pendingTimers, 0);
  });
});
