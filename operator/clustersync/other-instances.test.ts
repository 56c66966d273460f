import assert from 'node:assert/strict';
import { decide } from './decide.ts';
import { resetFinalizer } from './on-record.ts';
import {
  clusterSync,
  observationOf,
  phaseAndReadiness,
  readyMessage,
  runningPod,
  runningWorld,
} from './testing/worlds.ts';

describe('a sync of other instances than those of its ClusterSync', () => {
  const ofOthers = {
    kind: 'error',
    error: {
      name: 'NotAnInstance',
      description:
        'the sync was started with 1 instance (old), not with 2 instances (old-0, old-1)',
      isLasting: true,
    },
  } as const;
  const syncer = { ...clusterSync().spec.syncer, instances: 2 };
  const source = { kind: 'ReplicaSet', shards: ['rs'] } as const;
  const startOver = { token: 'one', destination: 'Clean' } as const;
  const toDelete = clusterSync({ syncer, onDelete: 'Clean' }, { source });
  const deletion = { deletionTimestamp: '2026-01-01T11:00:00Z', finalizers: [resetFinalizer] };
  const deleted = { ...toDelete, metadata: { ...toDelete.metadata, ...deletion } };
  for (const [what, sync, wayOut] of [
    ['is to run', clusterSync({ syncer }, { source }), ''],
    ['is to be started over', clusterSync({ syncer, startOver }, { source }), ''],
    ['is to be ended', deleted, '; to release it as it is, set spec.onDelete to Keep'],
  ] as const)
    it(`is left alone, and which instances can end it is said, when it ${what}`, () => {
      const ids = ['old-0', 'old-1'];
      const names = ids.map((_, index) => `orders-syncer-${index}`);
      const decision = decide(sync, {
        ...runningWorld(undefined),
        pods: new Map(names.map((name) => [name, runningPod(name, ids)])),
        observations: new Map(ids.map((id) => [id, observationOf(ofOthers)])),
        claim: { kind: 'open', isContested: false },
      });
      assert.deepEqual(decision.commands, []);
      assert.equal(decision.finalizers, undefined);
      assert.equal(decision.isEnded, false);
      assert.equal(phaseAndReadiness(decision.status), 'Stalled: False PreconditionFailed');
      assert.equal(
        readyMessage(decision.status),
        [
          'the syncer old-0 reports NotAnInstance: the sync was started with 1 instance (old), not with 2 instances (old-0, old-1) ',
          '(Continue or end (reset) that sync with exactly the instances that the description names. Use a ClusterSync with the same ',
          'spec.source.name and their number as spec.syncer.instances (none if they are the shards of the source), or one process ',
          `for each, with all names in --ids (--id for one).)${wayOut}`,
        ].join(''),
      );
    });
});
