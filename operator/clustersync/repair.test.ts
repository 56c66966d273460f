import assert from 'node:assert/strict';
import { optionsDigestHeader } from '../../sync-api/headers.ts';
import type { ClusterSyncSpec, ClusterSyncStatus } from '../api/clustersync.ts';
import { findCondition } from '../kube/conditions.ts';
import type { Observation, ProgressAnswer } from '../operand/observation.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import { decide } from './decide.ts';
import type { Decision } from './decision.ts';
import { wantedDigest } from './identity.ts';
import type { SyncerCommand, SyncerProgress } from './syncer-client.ts';
import {
  answers,
  changed,
  clusterSync,
  decideOn,
  failure,
  phaseAndReadiness,
  readyMessage,
  refused,
  resetAndIdle,
  reversed,
  runningWorld,
  shardedWorld,
  threeShards,
  type InstanceScene,
} from './testing/worlds.ts';

const { idle, copy, changes, paused, committing, committed } = answers;

const repair = { token: 'one', comparison: 'Hashes' } as const;
const begun: ClusterSyncStatus = {
  source: { kind: 'ReplicaSet', shards: ['rs'] },
  phase: 'ChangeApplication',
  startedAt: '2026-01-01T00:00:00Z',
};
/** As the operator records the request before it is sent. */
const asked = { token: 'one', state: 'Requested', comparison: 'Hashes', formerRepairs: 2 } as const;
const recorded: ClusterSyncStatus = { ...begun, repair: asked };

const lost: ProgressAnswer<SyncerProgress> = failure('OplogRolledOver');

/** An answer of an instance that was given so many repairs. */
const after = (repairs: number, answer = changes) => changed(answer, { repairs });

const taken = { name: 'repair', request: 'one', kind: 'taken', endedMs: nowMs - 200 } as const;

const sent = ({ commands }: Decision): readonly string[] =>
  commands.map(({ id, command }) => `${command.name} ${id}`);

function decideFor(
  answer: ProgressAnswer<SyncerProgress> | undefined,
  {
    status = recorded,
    spec = {},
    observation,
  }: {
    readonly status?: ClusterSyncStatus;
    readonly spec?: Partial<ClusterSyncSpec>;
    readonly observation?: Partial<Observation<SyncerProgress, SyncerCommand>>;
  } = {},
): Decision {
  const sync = clusterSync({ repair, ...spec }, status);
  return decide(sync, runningWorld(answer, observation ? { observation } : {}));
}

describe('spec.repair', () => {
  it('is recorded with what the syncer counts, and only then sent', () => {
    const first = decideFor(after(2), { status: begun });
    assert.deepEqual(first.commands, []);
    assert.deepEqual(first.status.repair, asked);
    assert.equal(first.requeueAfterMs, 0);
    const second = decideFor(after(2), { status: { ...begun, ...first.status } });
    const { name, body, headers } = second.commands[0]?.command ?? {};
    assert.deepEqual([name, body], ['repair', { comparison: 'hashes' }]);
    assert.equal(headers?.[optionsDigestHeader], wantedDigest(clusterSync()));
    assert.equal(phaseAndReadiness(second.status), 'ChangeApplication: False Repairing');
    assert.equal(second.status.canCommit, false);
    const canCommit = findCondition(second.status.conditions, 'CanCommit');
    assert.match(canCommit?.message ?? '', /spec\.repair .*comes first/);
  });

  it('compares as it was recorded, whatever the spec says by now', () => {
    const bytes = { ...repair, comparison: 'Bytes' } as const;
    const { status } = decideFor(after(2), { status: begun, spec: { repair: bytes } });
    const { commands } = decideFor(after(2), { status: { ...begun, ...status } });
    assert.deepEqual(commands[0]?.command.body, { comparison: 'bytes' });
  });

  it('is sent to a sync that has stopped for good, whatever it counted before', () => {
    const shown = { state: 'RUNNING', repairs: 2, info: 'change event application' };
    const instances = [{ id: 'old', pod: 'orders-syncer-0', ready: true, progress: shown }];
    const first = decideFor(lost, { status: { ...begun, instances } });
    assert.deepEqual(first.status.repair, asked);
    const second = decideFor(lost, { status: { ...begun, ...first.status } });
    assert.deepEqual(sent(second), ['repair old']);
    assert.equal(phaseAndReadiness(second.status), 'ChangeApplication: False Repairing');
    // Nothing was ever heard of its count.
    const { formerRepairs: _, ...uncounted } = asked;
    const unknown = decideFor(lost, { status: begun });
    assert.deepEqual(unknown.status.repair, uncounted);
    assert.deepEqual(sent(decideFor(lost, { status: { ...begun, repair: uncounted } })), [
      'repair old',
    ]);
  });

  const given: Readonly<
    Record<
      string,
      readonly [
        ProgressAnswer<SyncerProgress>,
        Partial<Observation<SyncerProgress, SyncerCommand>>?,
        ClusterSyncStatus?,
      ]
    >
  > = {
    'counts it, no matter who sent it': [after(3, copy)],
    'has accepted it, and has stopped again': [lost, { command: taken }],
    'has accepted it, and does not count': [
      copy,
      { command: taken },
      { ...begun, repair: { token: 'one', state: 'Requested', comparison: 'Hashes' } },
    ],
  };
  for (const [what, [answer, observation, status]] of Object.entries(given)) {
    it(`is done once the syncer ${what}`, () => {
      const decision = decideFor(answer, {
        ...(observation && { observation }),
        ...(status && { status }),
      });
      assert.deepEqual(decision.commands, []);
      const { repair: record } = decision.status;
      assert.deepEqual(record, { token: 'one', state: 'Begun', comparison: 'Hashes' });
      const [event] = decision.events.filter(({ reason }) => reason === 'Repairing');
      assert.match(event?.note ?? '', /starts over/);
      const again = decideFor(after(3), { status: { ...recorded, ...decision.status } });
      assert.deepEqual([again.commands, again.status.repair], [[], record]);
      assert.ok(!again.events.some(({ action }) => action === 'Repair'));
    });
  }

  it('is not taken for done by what the syncer has answered before', () => {
    const observation = { command: taken, askedMs: nowMs - 300 };
    const { status, commands } = decideFor(after(2), { observation });
    assert.deepEqual([commands, status.repair], [[], asked]);
    // The former token had the same command sent.
    const former = { command: { ...taken, request: 'zero' } };
    assert.deepEqual(sent(decideFor(lost, { observation: former })), ['repair old']);
  });

  it('was counted by nobody before it was sent: what is counted afterwards may include it', () => {
    const { formerRepairs: _, ...uncounted } = asked;
    const status = { ...begun, repair: uncounted };
    const unsent = decideFor(after(2), { status });
    assert.deepEqual(unsent.status.repair, asked);
    const observation = { command: { ...taken, kind: 'sending' } } as const;
    const sending = decideFor(after(2), { status, observation });
    assert.deepEqual(sending.status.repair, uncounted);
  });

  it('is there when the ClusterSync is created: nothing is asked for', () => {
    for (const answer of [undefined, idle, copy, changes, lost]) {
      const { status, commands, events } = decideFor(answer, {
        status: { source: { kind: 'ReplicaSet', shards: ['rs'] } },
        spec: { suspend: answer === copy },
      });
      assert.deepEqual(status.repair, { token: 'one', state: 'NotNeeded' });
      assert.ok(!commands.some(({ command }) => command.name === 'repair'));
      assert.ok(!events.some(({ action }) => action === 'Repair'));
    }
  });

  it('has nothing to do where the sync has not begun, or starts over', () => {
    const notNeeded = { token: 'one', state: 'NotNeeded' };
    for (const status of [begun, recorded]) {
      const decision = decideFor(idle, { status });
      assert.deepEqual(decision.status.repair, notNeeded);
      assert.deepEqual(sent(decision), ['start old']);
    }
    const spec = { startOver: { token: 'one', destination: 'Keep' } } as const;
    const ending = decideFor(changes, { status: begun, spec });
    assert.deepEqual([sent(ending), ending.status.repair], [['reset old'], undefined]);
    const startOver = { token: 'one', state: 'Resetting' } as const;
    const ended = decideFor(undefined, {
      ...{ status: { ...begun, startOver }, spec, observation: resetAndIdle },
    });
    assert.deepEqual(ended.status.repair, notNeeded);
  });

  it('waits while the operator changes nothing', () => {
    const { commands, status } = decideFor(changes, { status: begun, spec: { suspend: true } });
    assert.deepEqual([commands, status.repair], [[], undefined]);
  });

  it('is refused for a committed sync', () => {
    const { commands, events, status } = decideFor(committed, { status: begun });
    assert.deepEqual(commands, []);
    assert.deepEqual(status.repair, { token: 'one', state: 'Refused' });
    const [event] = events.filter(({ reason }) => reason === 'RepairRefused');
    assert.match(event?.note ?? '', /is committed/);
  });

  it('is refused for a token that was used before', () => {
    const status = {
      ...begun,
      repair: { token: 'two', state: 'Begun', formerTokens: ['one'] },
    } as const;
    const { commands, events, status: next } = decideFor(changes, { status });
    assert.deepEqual(commands, []);
    assert.deepEqual(next.repair, { token: 'one', state: 'Refused', formerTokens: ['two'] });
    assert.match(events.find(({ action }) => action === 'Repair')?.note ?? '', /used before/);
  });

  const waits: Readonly<
    Record<string, readonly [ProgressAnswer<SyncerProgress>, RegExp, Partial<ClusterSyncSpec>?]>
  > = {
    paused: [paused, /a paused sync cannot be repaired; set spec\.state to Running/],
    'about to be paused': [changes, /set spec\.state to Running/, { state: 'Paused' }],
    committing: [committing, /waits for the commit in progress/],
    'not reversed yet': [
      reversed(committed),
      /waits until the sync goes in the direction/,
      { reversible: true },
    ],
    'kept by an error that may pass': [
      failure('ClusterUnreachable', false),
      /ClusterUnreachable.*; spec\.repair waits until .*old has overcome the error/,
    ],
    'of other options': [
      changed(changes, { optionsDigest: 'of another sync' }),
      /started with options other.*; spec\.repair waits until this is resolved/,
    ],
  };
  for (const [name, [answer, message, spec = {}]] of Object.entries(waits)) {
    it(`waits, and says why, while the sync is ${name}`, () => {
      const decision = decideFor(answer, { spec });
      assert.ok(!decision.commands.some(({ command }) => command.name === 'repair'));
      assert.match(readyMessage(decision.status), message);
      assert.equal(decision.status.repair?.state, 'Requested');
      assert.deepEqual(sent(decideFor(changes)), ['repair old']);
    });
  }

  it('waits for a syncer that does not answer', () => {
    const unreachable = { sinceMs: nowMs - 60_000, description: 'refused' };
    const { commands, status } = decideFor(changes, { observation: { unreachable } });
    assert.deepEqual(commands, []);
    assert.match(readyMessage(status), /refused; spec\.repair waits until .*old answers/);
  });

  it('says why the syncer refuses it, and sends it again later', () => {
    const refusal = { ...refused('repair', 'CommandNotSupported'), request: 'one' };
    const decision = decideFor(lost, { observation: { command: refusal } });
    assert.deepEqual(decision.commands, []);
    assert.match(readyMessage(decision.status), /old refuses repair with CommandNotSupported/);
    const due = { ...refusal, retryAtMs: nowMs };
    assert.deepEqual(sent(decideFor(lost, { observation: { command: due } })), ['repair old']);
    // Another token is not kept waiting.
    const other = { ...refusal, request: 'zero' };
    assert.deepEqual(sent(decideFor(lost, { observation: { command: other } })), ['repair old']);
  });

  it('comes before a commit', () => {
    for (const status of [begun, recorded]) {
      const decision = decideFor(after(2), { status, spec: { state: 'Committed' } });
      assert.deepEqual(sent(decision), status === begun ? [] : ['repair old']);
    }
  });
});

describe('spec.repair of several instances', () => {
  const shardedStatus: ClusterSyncStatus = { ...recorded, ...threeShards };
  const sentTo = (...scenes: readonly [InstanceScene, InstanceScene, InstanceScene]) =>
    sent(decideOn(shardedWorld(scenes), { repair }, shardedStatus));

  it('is sent to all of them, stopped or not', () => {
    const all = ['repair shard-0', 'repair shard-1', 'repair shard-2'];
    assert.deepEqual(sentTo(lost, after(2), after(2, copy)), all);
  });

  it('is sent to those that lack it, by another operator as well', () => {
    assert.deepEqual(sentTo(after(3, copy), lost, after(2)), ['repair shard-1', 'repair shard-2']);
    assert.deepEqual(sentTo(after(3, copy), after(3, copy), lost), ['repair shard-2']);
    const scenes = [after(3), after(3), { answer: lost, command: taken }] as const;
    const decision = decideOn(shardedWorld(scenes), { repair }, shardedStatus);
    assert.deepEqual([decision.commands, decision.status.repair?.state], [[], 'Begun']);
  });

  it('is sent to none while one cannot be given it', () => {
    assert.deepEqual(sentTo(lost, 'no pod', after(2)), []);
    assert.deepEqual(
      sentTo(lost, paused, after(2)).filter((each) => each.startsWith('repair')),
      [],
    );
    assert.deepEqual(sentTo(after(3), after(2), changed(paused, { repairs: 3 })), [
      'resume shard-2',
      'repair shard-1',
    ]);
  });
});
