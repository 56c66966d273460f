import assert from 'node:assert/strict';
import { commitState } from '../../../cli/kubectl/commit-state.ts';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import { statefulSets } from '../../../operator/kube/builtin-resources.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import { objectOf } from '../../../service/json-fields.ts';
import type { DialectName } from '../../ground/sync-tool/dialects.ts';
import { SyncTools, type ToolSetup } from '../../ground/sync-tool/sync-tools.ts';
import { until } from '../../ground/until.ts';
import { readiness, type OperatorGround } from './operator-ground.ts';
import { useOperatorGround } from './use-operator-ground.ts';

const image = 'example.dev/other-tool:1';
const hourMs = 3_600_000;

describe('the operator with another sync tool, on a real API server', () => {
  let ground: OperatorGround;
  useOperatorGround((started) => {
    ground = started;
  });

  async function syncWith(
    dialect: DialectName,
    spec: object = {},
    times: Partial<Pick<ToolSetup, 'copyMs' | 'turnMs' | 'initializingMs'>> = {},
  ) {
    const { namespace, address } = await ground.newPlace();
    const usual = { copyMs: 500, turnMs: 500 };
    const setup = { dialect, addresses: [address], port: 27182, ...usual, ...times };
    const tools = await SyncTools.start(setup);
    await ground.createSync(namespace, { ...spec, syncer: { image } });
    const set = await ground.untilMade(namespace, 'orders-syncer');
    await ground.runPod(set, address);
    const reach = async (expected: string) =>
      await ground.untilSync(namespace, expected, (status) => readiness(status) === expected);
    /** Ends what takes an hour, when it has been seen. */
    const skip = (): void => {
      tools.skip(address, hourMs);
    };
    const stop = async (): Promise<void> => {
      await tools[Symbol.asyncDispose]();
    };
    return { namespace, set, tools, reach, skip, [Symbol.asyncDispose]: stop };
  }

  /** How far a requested commit is, as `kubectl clustersync commit --wait` reads it. */
  async function kindOfCommit(namespace: string): Promise<string> {
    const object = await ground.get(clusterSyncs, namespace, 'orders');
    return commitState(objectOf(object)).kind;
  }

  it('brings one that has what the contract has, and no more, to its commit and back', async () => {
    const options = { reversible: true, enableUserWriteBlocking: true };
    await using sync = await syncWith('contract', options, { copyMs: hourMs });
    const [container] = sync.set.spec?.template.spec?.containers ?? [];
    assert.equal(container?.image, image);
    assert.deepEqual(container.livenessProbe?.tcpSocket, { port: 'api' });
    const copy = await ground.untilSync(
      sync.namespace,
      'the copy',
      ({ phase, totals }) => phase === 'InitialCopy' && totals !== undefined,
    );
    assert.equal(copy.lagTimeSeconds, undefined);
    sync.skip();
    const inSync = await sync.reach('True InSync');
    assert.equal(inSync.totals?.percent, 100);
    assert.equal(inSync.coordinatorID, 'old');
    assert.equal(typeof inSync.lagTimeSeconds, 'number');
    await ground.patchSync(sync.namespace, { state: 'Paused' });
    await sync.reach('True Paused');
    await ground.patchSync(sync.namespace, { state: 'Committed' });
    const end = await sync.reach('True Committed');
    assert.equal(end.canWrite, true);
    assert.equal(await kindOfCommit(sync.namespace), 'committed');
    await ground.patchSync(sync.namespace, { direction: 'Reverse', state: 'Running' });
    const back = await sync.reach('True InSync');
    assert.equal(back.direction, 'Reverse');
    assert.equal(await kindOfCommit(sync.namespace), 'withdrawn');
    await ground.patchSync(sync.namespace, { state: 'Committed' });
    await until(
      'the reversal is committed, for who waits for it with kubectl clustersync',
      async () => {
        return (await kindOfCommit(sync.namespace)) === 'committed';
      },
    );
    const commands = ['start', 'pause', 'resume', 'commit', 'reverse', 'commit'];
    assert.deepEqual(sync.tools.taken, commands);
  });

  it('brings one that says its state alone to its commit, and tells which command it lacks', async () => {
    await using sync = await syncWith('least');
    // A tool that does not tell its lag has said nothing that proves it to be in sync.
    const following = await sync.reach('True CatchingUp');
    assert.equal(following.canCommit, true);
    assert.equal(following.lagTimeSeconds, undefined);
    assert.equal(following.totals, undefined);
    await ground.patchSync(sync.namespace, { state: 'Paused' });
    const refused = await sync.reach('False CommandNotSupported');
    assert.equal(refused.phase, 'Stalled');
    const { message = '' } = findCondition(refused.conditions, 'Stalled') ?? {};
    assert.match(message, /the syncer old refuses pause with CommandNotSupported: HTTP 404/);
    await ground.patchSync(sync.namespace, { state: 'Committed' });
    await sync.reach('True Committed');
    assert.deepEqual(sync.tools.taken, ['start', 'commit']);
  });

  it('brings one that speaks as mongosync does to its commit and back', async () => {
    const options = { reversible: true, enableUserWriteBlocking: true };
    await using sync = await syncWith('mongosync', options, {
      initializingMs: hourMs,
      copyMs: hourMs,
      turnMs: hourMs,
    });
    // A tool that does not know its state yet has not said that it was let in on both sides.
    await sync.reach('False DestinationNotProven');
    await until('it has been asked', () => sync.tools.polls >= 3);
    assert.deepEqual(sync.tools.commands, []);
    sync.skip();
    await sync.reach('False InitialCopy');
    sync.skip();
    const inSync = await sync.reach('True InSync');
    assert.equal(inSync.coordinatorID, 'old');
    assert.equal(typeof inSync.lagTimeSeconds, 'number');
    await ground.patchSync(sync.namespace, { state: 'Committed' });
    await until('it commits', () => sync.tools.taken.includes('commit'));
    sync.skip();
    await sync.reach('True Committed');
    await ground.patchSync(sync.namespace, { direction: 'Reverse', state: 'Running' });
    await sync.reach('False Reversing');
    sync.skip();
    await sync.reach('True InSync');
    // Before it knows its state it takes nothing: nothing is sent.
    const names = sync.tools.commands.map(({ name }) => name);
    assert.deepEqual(names, ['start', 'commit', 'reverse']);
  });

  it('runs no image that nobody has allowed, and continues when it is left out', async () => {
    const { namespace } = await ground.newPlace();
    await ground.createSync(namespace, { syncer: { image: 'example.dev/other-tools-of-mine:1' } });
    const refused = await ground.untilSync(
      namespace,
      'it is refused',
      (status) => readiness(status) === 'False ImageNotAllowed',
    );
    assert.equal(refused.phase, 'Stalled');
    assert.equal(await ground.get(statefulSets, namespace, 'orders-syncer'), undefined);
    await ground.patchSync(namespace, { syncer: { image: null } });
    const made = await ground.untilMade(namespace, 'orders-syncer');
    const version = made.metadata.resourceVersion;
    // What runs by then is left as it is.
    await ground.patchSync(namespace, { syncer: { image: 'evil.dev/example.dev/other-tool:1' } });
    await ground.untilSync(
      namespace,
      'it is refused again',
      (status) => readiness(status) === 'False ImageNotAllowed',
    );
    const kept = await ground.get(statefulSets, namespace, 'orders-syncer');
    assert.equal(kept?.metadata.resourceVersion, version);
  });
});
