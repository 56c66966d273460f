import assert from 'node:assert/strict';
import { defaultOptions } from '../../sync-api/testing/start-examples.ts';
import type { ClusterSync, ClusterSyncStatus } from '../api/clustersync.ts';
import { verification } from '../verification/testing/worlds.ts';
import { collectionsOf, detailOf, mismatchesOf } from './sync-detail.ts';
import { summaryOf } from './sync-summary.ts';

const nothingAsked = {
  ...{ collections: null, mismatches: new Map(), events: { shown: [], hasMore: false } },
} as const;

function syncWith(status: ClusterSyncStatus): ClusterSync {
  const reference = (name: string) => ({ name, uriSecretRef: { name, key: 'uri' } });
  return {
    apiVersion: 'clustersync.dev/v1alpha1',
    kind: 'ClusterSync',
    metadata: { namespace: 'shop', name: 'orders' },
    spec: {
      ...{ source: reference('old'), destination: reference('new'), direction: 'Forward' },
      ...defaultOptions,
      ...{
        state: 'Running',
        dryRun: false,
        suspend: false,
        onDelete: 'Keep',
        syncer: { resources: {}, logLevel: 'info' },
      },
      commit: {
        ...{ mode: 'Manual', maxLagSeconds: 1, workloadsAfterCommit: 'StayAtZero' },
        deadlineSeconds: 600,
      },
    },
    status,
  };
}

function instance(id: string, progress: Record<string, unknown>) {
  return {
    id,
    pod: `orders-syncer-${id}`,
    ready: true,
    progress: { state: 'RUNNING', ...progress },
  };
}

describe('the summary of a ClusterSync', () => {
  it('adds up the changes that the instances have applied, where all say how many', () => {
    const counts = (...events: readonly unknown[]): number | null =>
      summaryOf(
        syncWith({
          instances: events.map((totalEventsApplied, index) =>
            instance(`${index}`, { totalEventsApplied }),
          ),
        }),
        [],
      ).eventsApplied;
    assert.equal(counts(3, 4), 7);
    assert.equal(counts(3, null), null);
    assert.equal(counts(), null);
  });

  it('goes from the destination to the source when the sync is reversed', () => {
    const { source, destination } = summaryOf(syncWith({ direction: 'Reverse' }), []);
    assert.deepEqual([source, destination], ['new', 'old']);
  });
});

describe('the lag and the oplog of a ClusterSync', () => {
  const behind = (lagTimeSeconds: number, estimatedOplogTimeRemainingSeconds: number | null) => ({
    ...{ lagTimeSeconds, estimatedOplogTimeRemainingSeconds },
  });
  const figures = (status: ClusterSyncStatus): readonly (number | null)[] => {
    const { lagSeconds, oplogSeconds } = summaryOf(syncWith(status), []);
    return [lagSeconds, oplogSeconds];
  };

  it('are known during the copy, too, when the status has no lag', () => {
    const instances = [instance('a', behind(600, 90)), instance('b', behind(400, 60))];
    assert.deepEqual(figures({ phase: 'InitialCopy', instances }), [600, 60]);
    // In other phases, the operator knows whether a lag has a meaning.
    assert.deepEqual(figures({ phase: 'Paused', instances }), [null, 60]);
    assert.deepEqual(
      figures({ phase: 'ChangeApplication', lagTimeSeconds: 3, instances }),
      [3, 60],
    );
  });

  it('are not those of an instance that does not answer', () => {
    const silent = { ...instance('b', behind(400, 60)), error: 'no answer within 5000 ms' };
    const instances = [instance('a', behind(600, 90)), silent];
    assert.deepEqual(figures({ phase: 'InitialCopy', instances }), [null, null]);
    assert.deepEqual(figures({ phase: 'InitialCopy', instances: [silent] }), [null, null]);
  });

  it('are not known where the syncer does not know them: a sharded source has no oplog to read', () => {
    const instances = [instance('a', behind(600, null))];
    assert.deepEqual(figures({ phase: 'InitialCopy', instances }), [600, null]);
    assert.deepEqual(figures({}), [null, null]);
  });
});

describe('the detail of a ClusterSync', () => {
  it('has the longest way to go, and each warning once', () => {
    const detail = detailOf(
      syncWith({
        coordinatorID: 'b',
        instances: [
          instance('a', {
            estimatedSecondsToCatchUp: 4,
            warnings: ['one', 'two'],
          }),
          instance('b', {
            estimatedSecondsToCatchUp: 9,
            ...{ warnings: ['two', 3], indexBuilding: { indexesBuilt: 1, totalIndexesToBuild: 5 } },
          }),
        ],
      }),
      [],
      nothingAsked,
    );
    assert.equal(detail.catchUpSeconds, 9);
    assert.deepEqual(detail.warnings, ['one', 'two']);
    assert.deepEqual(detail.indexes, { built: 1, total: 5 });
    assert.deepEqual(
      detail.instances.map(({ id, isCoordinator }) => [id, isCoordinator]),
      [
        ['a', false],
        ['b', true],
      ],
    );
  });

  it('has what the check before the start has found', () => {
    const finding = { severity: 'Warning', name: 'OplogTooShort', message: 'one hour' } as const;
    const preflight = [{ ...finding, action: 'Enlarge it.' }, finding];
    assert.deepEqual(detailOf(syncWith({ preflight }), [], nothingAsked).findings, [
      { ...finding, action: 'Enlarge it.' },
      { ...finding, action: null },
    ]);
  });

  it('does not know when it has caught up, where one instance does not', () => {
    const instances = [instance('a', { estimatedSecondsToCatchUp: 4 }), instance('b', {})];
    assert.equal(detailOf(syncWith({ instances }), [], nothingAsked).catchUpSeconds, null);
  });
});

describe('a verification on the page of its ClusterSync', () => {
  const condition = (type: string, status: 'True' | 'False', reason: string) => ({
    ...{ type, status, reason, message: `because of ${reason}` },
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });
  const problem = (
    error: string | undefined,
    ...conditions: ReturnType<typeof condition>[]
  ): unknown => {
    const verifier = error === undefined ? {} : { error };
    const one = verification({ conditions, verifier });
    const [shown] = detailOf(syncWith({}), [one], nothingAsked).verifications;
    return [shown?.error, shown?.reason];
  };

  it('says why it has ended without a verdict, or cannot go on', () => {
    assert.deepEqual(
      problem(
        undefined,
        condition('Ready', 'False', 'CheckFailed'),
        condition('Stalled', 'True', 'CheckFailed'),
      ),
      ['because of CheckFailed', 'CheckFailed'],
    );
  });

  it('says what it waits for, with the reason', () => {
    // That of the condition may be the reason of a graver problem.
    const ready = condition('Ready', 'False', 'SecretNotFound');
    const error = 'ClusterUnreachable: no answer';
    assert.deepEqual(problem(error, ready), [error, 'ClusterUnreachable']);
    assert.deepEqual(problem('no answer', ready), ['no answer', null]);
  });

  it('says nothing while it only compares', () => {
    assert.deepEqual(problem(undefined, condition('Ready', 'False', 'Checking')), [null, null]);
  });
});

describe('collectionsOf', () => {
  const part = (estimatedCopiedBytes: number, isCopied: boolean) => ({
    ...{ total: 1, copied: isCopied ? 1 : 0 },
    collections: [
      { namespace: 'shop.orders', estimatedTotalBytes: 100, estimatedCopiedBytes, isCopied },
    ],
  });

  it('counts a collection as copied when each instance has done its part', () => {
    const view = collectionsOf([part(30, true), part(40, false)], 2);
    assert.deepEqual(view, {
      collections: [
        { namespace: 'shop.orders', totalBytes: 100, copiedBytes: 70, isCopied: false },
      ],
      ...{ total: 1, copied: 0, isExact: true, unknownInstances: 0 },
    });
    assert.equal(collectionsOf([part(30, true), part(40, true)], 2)?.copied, 1);
    assert.equal(collectionsOf([part(30, true)], 2)?.copied, 0, 'the other one is silent');
  });

  it('is nothing where no tool tells', () => {
    assert.equal(collectionsOf([], 1), null);
    assert.equal(collectionsOf([{ error: 'NotFound' }, undefined], 2), null);
  });
});

describe('mismatchesOf', () => {
  it('leaves out what documents hold, and their ids', () => {
    const where = { namespace: 'shop.orders', kind: 'differentDocument', field: 'price' };
    const answer = {
      mismatches: [{ ...where, id: '{"$oid":"65a0"}', sourceValue: '1', destinationValue: '2' }],
    };
    assert.deepEqual(mismatchesOf(answer), [{ ...where, index: null, detail: null }]);
  });
});
