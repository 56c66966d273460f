import assert from 'node:assert/strict';
import type { ClusterSyncSpec } from '../api/clustersync.ts';
import type { CommandState, ProgressAnswer } from '../operand/observation.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import { decide } from './decide.ts';
import { wantedDigest } from './identity.ts';
import { startBody } from './resources.ts';
import type { SyncerCommand, SyncerProgress } from './syncer-client.ts';
import {
  answers,
  changed,
  clusterSync,
  phaseAndReadiness,
  readyMessage,
  runningWorld,
  shardedWorld,
  threeShards,
} from './testing/worlds.ts';

const limits = { maxCopyBytesPerSecond: 2_000_000 };
const reporting = (requested: object, answer = answers.copy) =>
  changed(answer, { limits: { requested, heldBackBy: [] } });

function sent(spec: Partial<ClusterSyncSpec>, answer = reporting({})): unknown[] {
  return decide(clusterSync(spec), runningWorld(answer)).commands.map(
    ({ command: { name, body } }) => [name, body],
  );
}

describe('spec.limits', () => {
  it('are part of the start, and not of what identifies the sync', () => {
    const limited = clusterSync({ limits });
    assert.deepEqual(startBody(limited).limits, limits);
    assert.equal('limits' in startBody(clusterSync({ limits: {} })), false);
    assert.equal(wantedDigest(limited), wantedDigest(clusterSync()));
  });

  it('are sent while they differ from what the syncer reports', () => {
    assert.deepEqual(sent({ limits }), [['limits', limits]]);
    assert.deepEqual(sent({ limits }, reporting(limits)), []);
    assert.deepEqual(sent({}, reporting(limits)), [['limits', {}]]);
    assert.deepEqual(sent({ limits: {} }, reporting({})), []);
    const more = { maxCopyBytesPerSecond: 2_000_000, maxChangesPerSecond: 7 };
    assert.deepEqual(sent({ limits: more }, reporting(limits)), [['limits', more]]);
  });

  it('are sent to a paused sync, too, and to none before its start or after its commit', () => {
    const paused = reporting({}, answers.paused);
    assert.deepEqual(sent({ limits, state: 'Paused' }, paused), [['limits', limits]]);
    const idle = decide(clusterSync({ limits }), runningWorld(answers.idle)).commands;
    assert.deepEqual(
      idle.filter(({ command }) => command.name === 'limits'),
      [],
    );
    assert.deepEqual(sent({ limits }, reporting({}, answers.committing)), []);
    assert.deepEqual(sent({ limits }, reporting({}, answers.committed)), []);
  });

  it('are not sent to a tool that has none, nor while another command is on its way', () => {
    assert.deepEqual(sent({ limits }, answers.copy), []);
    const resumed = sent({ limits, state: 'Running' }, reporting({}, answers.paused));
    assert.deepEqual(resumed, [['resume', {}]]);
    assert.deepEqual(sent({ limits, suspend: true }), []);
  });

  it('go to each instance that reports others', () => {
    const world = shardedWorld([reporting(limits), reporting({}), reporting({ odd: 1 })]);
    const { commands } = decide(clusterSync({ limits }, threeShards), world);
    assert.deepEqual(
      commands.map(({ id, command }) => [id, command.name]),
      [
        ['shard-1', 'limits'],
        ['shard-2', 'limits'],
      ],
    );
  });

  it('that are refused are said, until others take their place', () => {
    const error = { name: 'InvalidBody', description: 'an unknown time zone', isLasting: true };
    const refused = (request: object): CommandState<SyncerCommand> => ({
      ...{ name: 'limits', request: JSON.stringify(request), kind: 'refused', error },
      ...{ attempts: 1, endedMs: nowMs - 1, retryAtMs: nowMs + 10_000 },
    });
    const after = (request: object) => {
      const observation = { command: refused(request) };
      return decide(clusterSync({ limits }), runningWorld(reporting({}), { observation }));
    };
    const { status, commands } = after(limits);
    assert.match(phaseAndReadiness(status), /InvalidRequest/);
    assert.deepEqual(commands, []);
    const other = after({});
    assert.doesNotMatch(phaseAndReadiness(other.status), /InvalidRequest/);
    assert.equal(other.commands.length, 1);
  });

  it('that are refused are said, and not sent again at once, while another command is refused, too', () => {
    const error = { name: 'InvalidBody', description: 'an unknown time zone', isLasting: true };
    const ends = { attempts: 1, endedMs: nowMs - 1, retryAtMs: nowMs + 10_000 };
    const refusal = {
      ...({ name: 'limits', request: JSON.stringify(limits), kind: 'refused', error } as const),
      ...ends,
    };
    const repair = { ...refusal, name: 'repair', request: 'one' } as const;
    const observation = { command: repair, formerCommands: [refusal] };
    const world = runningWorld(reporting({}), { observation });
    const { status, commands } = decide(clusterSync({ limits }), world);
    assert.match(phaseAndReadiness(status), /InvalidRequest/);
    assert.deepEqual(commands, []);
  });

  it('are said to have no effect on a tool that has none', () => {
    const statusFor = (
      spec: Partial<ClusterSyncSpec>,
      answer: ProgressAnswer<SyncerProgress> = answers.copy,
    ) => decide(clusterSync(spec), runningWorld(answer)).status;
    assert.match(phaseAndReadiness(statusFor({ limits })), /: False CommandNotSupported$/);
    assert.match(readyMessage(statusFor({ limits })), /the syncer old .* spec\.limits/);
    for (const status of [
      statusFor({}),
      statusFor({ limits: {} }),
      statusFor({ limits }, reporting(limits)),
      statusFor({ limits }, answers.idle),
    ])
      assert.doesNotMatch(phaseAndReadiness(status), /CommandNotSupported/);
  });
});
