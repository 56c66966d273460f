import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { findCondition } from '../../../operator/kube/conditions.ts';
import { secondTime } from '../../../operator/kube/micro-time.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { until } from '../../ground/until.ts';
import { readiness, type OperatorGround } from './operator-ground.ts';
import { PlayedApplication } from './played-application.ts';
import { PodProcess } from './pod-process.ts';
import { useOperatorGround } from './use-operator-ground.ts';

const web = { kind: 'Deployment', name: 'web' } as const;
const longMs = 3_600_000;

/** A time of the spec, so long from now; the API has whole seconds. */
function inMs(ms: number): string {
  return secondTime(Date.now() + ms);
}

describe('the window of an automatic commit, on a real API server with a real syncer', () => {
  let ground: OperatorGround;
  let sets: readonly ReplicaSet[] = [];

  useOperatorGround((started) => {
    ground = started;
  });

  before(async () => {
    sets = await Promise.all([
      startReplicaSet({ members: 1, name: 'source', syncerRoles: 'source' }),
      startReplicaSet({ members: 1, name: 'destination', syncerRoles: 'destination' }),
    ]);
  });

  after(async () => {
    for (const set of sets) await set.stop();
  });

  it('neither stops the application nor commits outside it, and gives the application back at its end', async () => {
    const [source, destination] = sets;
    assert.ok(source && destination);
    const { namespace, address } = await ground.newPlace(
      source.uri('syncer'),
      destination.uri('syncer'),
    );
    await using running = new AsyncDisposableStack();
    const application = running.use(
      await PlayedApplication.start(ground.client, namespace, source.uri('admin')),
    );
    const notBefore = inMs(longMs);
    const commit = {
      mode: 'Automatic',
      workloads: [web],
      maxLagSeconds: 60,
      deadlineSeconds: 3600,
    };
    await ground.createSync(namespace, { commit: { ...commit, notBefore } });
    const set = await ground.untilMade(namespace, 'orders-syncer');
    running.use(await PodProcess.start(ground.client, set, address));
    await ground.runPod(set, address);
    const patch = async (window: object): Promise<void> => {
      await ground.patchSync(namespace, { commit: window });
    };
    const untilReady = async (expected: string) =>
      await ground.untilSync(namespace, expected, (status) => readiness(status) === expected);
    const untilWritten = async (): Promise<void> => {
      const before = application.written;
      await until('the application writes', () => application.written > before);
    };

    const early = await ground.untilSync(namespace, 'it could commit', (status) => {
      return status.canCommit === true && readiness(status) === 'True InSync';
    });
    const message = findCondition(early.conditions, 'Ready')?.message ?? '';
    assert.ok(
      message.endsWith(`; the automatic commit waits until ${notBefore} (spec.commit.notBefore)`),
    );
    await untilWritten();
    assert.deepEqual([early.commit, application.starts], [undefined, 1]);
    assert.match(
      findCondition(early.conditions, 'ReadyToCommit')?.reason ?? '',
      /^(NotVerified|ChangeApplication)$/,
    );

    // Its pod does not end: there is no commit in this window.
    application.isClinging = true;
    const notAfter = inMs(40_000);
    await patch({ notBefore: inMs(0), notAfter });
    const held = await ground.untilSync(namespace, 'it is stopped', ({ commit: now }) => {
      return now?.workloads !== undefined;
    });
    assert.equal(held.commit?.deadline, notAfter);
    const missed = await ground.untilSync(namespace, 'the window is over', (status) => {
      return readiness(status) === 'False CommitDeadlineMissed' && !status.commit?.workloads;
    });
    assert.ok(Date.now() >= Date.parse(notAfter), 'not before its end');
    assert.match(
      findCondition(missed.conditions, 'Stalled')?.message ?? '',
      /and before 20.* with a later notAfter$/,
    );
    assert.equal(await application.size(), 1);

    await patch({ attempt: 'in a window that is over' });
    const over = await untilReady('False CommitWindowMissed');
    assert.ok(findCondition(over.conditions, 'Stalled')?.message.includes(notAfter));
    await untilWritten();
    assert.deepEqual([over.commit, await application.size()], [undefined, 1]);

    application.isClinging = false;
    const opensAt = inMs(3_000);
    await patch({ notBefore: opensAt, notAfter: inMs(longMs) });
    const end = await untilReady('True Committed');
    assert.ok(Date.parse(end.committedAt ?? '') >= Date.parse(opensAt));
    assert.equal(await application.size(), 0);
    await using client = new MongoClient(destination.uri('admin'));
    const items = client.db('shop').collection('items');
    assert.ok(application.written > 0);
    assert.equal(await items.countDocuments(), application.written);
  });
});
