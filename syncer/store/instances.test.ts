import assert from 'node:assert/strict';
import { defaultOptions } from '../../sync-api/testing/start-examples.ts';
import type { Topologies } from './clusters.ts';
import { newRecord, type InstanceRecord, type SyncRecord } from './records.ts';
import {
  beginningWaitsFor,
  commandWaitsFor,
  digestOf,
  repairsOf,
  requireMember,
  requireSameOptions,
  resetError,
  resetWaitsFor,
  stateOf,
  workWaitsFor,
} from './instances.ts';

const sharded = { kind: 'sharded', setName: '', host: 'h:1', version: '6.0.5' } as const;
const topologies: Topologies = {
  cluster0: { ...sharded, shards: ['a', 'b'], clusterId: 'zero' },
  cluster1: { ...sharded, shards: ['c'], clusterId: 'one' },
};
const options = {
  source: 'cluster0',
  destination: 'cluster1',
  ...defaultOptions,
} as const;
const begun = newRecord(options, topologies, 'a');
const now = new Date('2026-01-01T00:01:00Z');
const instance: InstanceRecord = {
  incarnation: '1',
  resumeToken: null,
  appliedTime: null,
  copiedBytes: 0,
  eventsApplied: 0,
  isCopied: false,
  arrivedAt: null,
  claims: 1,
  heartbeatAt: now,
};

describe('the instances of a sync', () => {
  it('are the shards of the source where one is called so, or one for all', () => {
    assert.deepEqual(begun.instances, ['a', 'b']);
    assert.deepEqual(begun.received, [1, 0]);
    assert.deepEqual(newRecord(options, topologies, 'syncer').instances, ['syncer']);
    const set = { ...topologies.cluster0, kind: 'replicaSet', shards: ['a'] } as const;
    assert.deepEqual(newRecord(options, { ...topologies, cluster0: set }, 'a').instances, ['a']);
    requireMember(begun, 'b');
    requireMember(begun, 'b', ['b', 'a']);
    assert.throws(
      () => {
        requireMember(begun, 'c');
      },
      {
        name: 'NotAnInstance',
        message: 'the sync was started with 2 instances (a, b), not with c',
      },
    );
  });

  it('are those that are given, whatever the source is', () => {
    const set = { ...topologies.cluster0, kind: 'replicaSet', shards: ['rs'] } as const;
    for (const cluster0 of [set, topologies.cluster0]) {
      const given = newRecord(options, { ...topologies, cluster0 }, 'x-1', ['x-0', 'x-1', 'x-2']);
      assert.deepEqual(given.instances, ['x-0', 'x-1', 'x-2']);
      assert.deepEqual(given.received, [0, 1, 0]);
    }
    // A shard's name among them does not count.
    assert.deepEqual(newRecord(options, topologies, 'a', ['a', 'x']).instances, ['a', 'x']);
  });

  it('refuse a process that expects others', () => {
    for (const [ids, not] of [
      [['a', 'c'], '2 instances (a, c)'],
      [['a', 'b', 'c'], '3 instances (a, b, c)'],
      // A list with one name is all of them, which the name alone is not.
      [['a'], '1 instance (a)'],
    ] as const)
      assert.throws(
        () => {
          requireMember(begun, 'a', ids);
        },
        {
          name: 'NotAnInstance',
          message: `the sync was started with 2 instances (a, b), not with ${not}`,
        },
      );
  });

  it('are counted where they are too many to be named', () => {
    const ids = Array.from({ length: 12 }, (_, index) => `x-${index}`);
    assert.throws(
      () => {
        requireMember({ ...begun, instances: ids }, 'x-0', ids.slice(0, 11));
      },
      {
        message:
          'the sync was started with 12 instances (x-0, x-1, x-2, x-3, x-4, x-5, x-6, x-7, x-8, x-9 and 2 more, which instances in clustersync_internal.sync names), not with 11 instances (x-0, x-1, x-2, x-3, x-4, x-5, x-6, x-7, x-8, x-9 and 1 more)',
      },
    );
  });

  it('count the repairs that each has been given', () => {
    const repaired: SyncRecord = {
      ...begun,
      ...{ command: 'repair', commandCount: 3, received: [3, 2], repairs: 2 },
    };
    assert.deepEqual(
      ['a', 'b'].map((id) => repairsOf(repaired, id)),
      [2, 1],
    );
    // The commit that one has not been given says nothing about repairs.
    const committing: SyncRecord = { ...repaired, command: 'commit' };
    assert.equal(repairsOf(committing, 'b'), 2);
    // It has never been given its start, either.
    assert.equal(repairsOf({ ...repaired, received: [3, 0] }, 'b'), 0);
  });

  const running: SyncRecord = { ...begun, received: [1, 1] };
  const committing: SyncRecord = {
    ...running,
    ...{ state: 'COMMITTING', command: 'commit', commandCount: 2 },
    ...{ formerState: 'RUNNING', received: [1, 2] },
  };
  const states: [string, SyncRecord, [string, string], string | undefined][] = [
    ['a start that one was given', begun, ['RUNNING', 'IDLE'], 'b has not received start'],
    ['a start that all were given', running, ['RUNNING', 'RUNNING'], undefined],
    ['one that is paused', { ...running, paused: ['b'] }, ['RUNNING', 'PAUSED'], undefined],
    [
      'a commit that one was given',
      committing,
      ['RUNNING', 'COMMITTING'],
      'a has not received commit',
    ],
    [
      'a commit while the other is paused',
      { ...committing, paused: ['a'] },
      ['PAUSED', 'COMMITTING'],
      'a has not received commit',
    ],
    [
      'a committed sync',
      { ...committing, state: 'COMMITTED', received: [2, 2] },
      ['COMMITTED', 'COMMITTED'],
      undefined,
    ],
  ];
  for (const [what, sync, expected, waitsFor] of states) {
    it(`show their own state: ${what}`, () => {
      assert.deepEqual([stateOf(sync, 'a'), stateOf(sync, 'b')], expected);
      assert.equal(commandWaitsFor({ sync, instances: new Map() }), waitsFor);
    });
  }

  it('are waited for by name, with what is wrong with them', () => {
    const failure = { instance: 'b', name: 'OplogRolledOver', description: '', at: now } as const;
    const silent = { ...instance, heartbeatAt: new Date('2026-01-01T00:00:00Z') };
    const waitsFor = (sync: SyncRecord, ...instances: [string, InstanceRecord][]) =>
      workWaitsFor(
        { sync, instances: new Map(instances) },
        'copied',
        ({ isCopied }) => isCopied,
        now.getTime(),
      );
    const done = { ...instance, isCopied: true };
    assert.equal(waitsFor(running, ['a', done], ['b', done]), undefined);
    assert.equal(waitsFor(running, ['a', done], ['b', instance]), 'b has not copied');
    assert.equal(waitsFor(running, ['a', done]), 'b (never seen) has not copied');
    assert.equal(
      waitsFor(running, ['a', instance], ['b', silent]),
      'a and b (no heartbeat for 60 seconds) have not copied',
    );
    assert.equal(
      waitsFor({ ...running, failure, paused: ['a'] }, ['a', instance], ['b', instance]),
      'a (paused) and b (stopped: OplogRolledOver) have not copied',
    );
  });

  it('are waited for, before anything is compared, until nothing can arrive of what they sent before', () => {
    const repaired = { ...running, commandCount: 2, received: [2, 2] } as const;
    const waitsFor = (received: readonly number[], ...begunWith: (number | undefined)[]) => {
      const entries = begunWith.map((number, index) => {
        const one = number === undefined ? instance : { ...instance, begunWith: number };
        return [running.instances[index] ?? '', one] as const;
      });
      const sync = { ...repaired, command: 'repair', received } as const;
      return beginningWaitsFor({ sync, instances: new Map(entries) }, now.getTime());
    };
    assert.equal(waitsFor([2, 1], 2, 2), 'b has not received repair');
    assert.equal(waitsFor([2, 2], 2, 1), 'b has not ended its earlier work');
    assert.equal(waitsFor([2, 2], 2, undefined), 'b has not ended its earlier work');
    assert.equal(waitsFor([2, 2], 2), 'b (never seen) has not ended its earlier work');
    assert.equal(waitsFor([2, 2], 2, 2), undefined);
  });

  it('have to be started with the same options', () => {
    const stored = { ...options, includeNamespaces: null } as unknown as SyncRecord['options'];
    requireSameOptions(options, { ...begun, options: stored });
    const others = { ...options, buildIndexes: 'never' } as const;
    assert.throws(
      () => {
        requireSameOptions(others, begun);
      },
      { name: 'DifferentSync', message: /buildIndexes was "beforeDataCopy", and is "never" here/ },
    );
    assert.throws(
      () => {
        requireSameOptions(others, begun, 'OtherStartOptions');
      },
      { name: 'OtherStartOptions' },
    );
  });

  it('are those of the same sync after it was reversed, and reversed again', () => {
    const there = { ...options, source: 'cluster1', destination: 'cluster0' } as const;
    const reversed = { ...begun, options: there, reversals: 1 };
    assert.equal(digestOf(reversed), digestOf(begun));
    assert.equal(digestOf({ ...begun, reversals: 2 }), digestOf(begun));
    assert.notEqual(digestOf({ ...reversed, reversals: 0 }), digestOf(begun));
    requireSameOptions(options, reversed);
  });
});

describe('what a reset waits for', () => {
  const instances = ['a', 'b', 'c'];
  const cases: readonly (readonly [readonly string[], readonly string[], string | undefined])[] = [
    [['a'], [], 'b and c have not received reset'],
    [['a', 'b'], ['a', 'b'], 'c has not received reset'],
    [instances, [], 'a and b and c have not ended the work'],
    [instances, ['a', 'c'], 'b has not ended the work'],
    [instances, instances, undefined],
    // What an instance of another name has done does not count.
    [['a', 'b', 'x'], ['a', 'b', 'x'], 'c has not received reset'],
    [instances, ['a', 'b', 'x'], 'c has not ended the work'],
  ];
  for (const [received, ended, expected] of cases) {
    it(`is ${expected ?? 'nothing'}, where ${received.join()} were given it and ${ended.join() || 'none'} ended`, () => {
      const reset = { destination: 'Clean', received, ended } as const;
      assert.equal(resetWaitsFor(instances, reset), expected);
      const error = resetError({ reset, instances });
      assert.equal(error?.name, 'ResetUnderWay');
      assert.ok(error.message.endsWith(expected ?? 'the destination Clean'));
    });
  }

  it('is no obstacle where the sync is not reset', () => {
    assert.equal(resetError({ reset: null, instances }), undefined);
  });
});
