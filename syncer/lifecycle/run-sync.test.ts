import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import type { FormerConnections } from '../../mongo/cluster-client.ts';
import { createLogger } from '../../service/logger.ts';
import type { Destination } from '../destination/destination.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import { requestedConcurrency } from '../options/copy-concurrency.ts';
import { syncerName } from '../store/clusters.ts';
import type { LeaseStore } from '../store/lease-store.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import { reversibleSync } from '../testing/reversible-sync.ts';
import { SyncRun } from './run-sync.ts';

type RunParts = ConstructorParameters<typeof SyncRun>[0];

/** Takes over during the copy, at the moment 7. @returns what it waited for, and what it did, in order. */
async function takenOver(enableUserWriteBlocking: boolean): Promise<unknown[]> {
  const record = { ...reversibleSync(), phase: 'copy', ownsCatalog: true } as const;
  const steps: unknown[] = [];
  const step = async (...what: unknown[]): Promise<void> => {
    await setImmediate();
    steps.push(what);
  };
  const lease: Pick<LeaseStore, 'readFormer' | 'forgetFormer'> = {
    readFormer: async () => {
      await step('readFormer');
      return ['former'];
    },
    forgetFormer: async (instances) => {
      await step('forgetFormer', ...instances);
    },
  };
  const destination: Pick<Destination, 'awaitFormerCoordinators' | 'settleEarlierWrites'> = {
    awaitFormerCoordinators: async ({ instances, sinceMs }) => {
      await step('destination', ...instances, sinceMs);
    },
    settleEarlierWrites: async () => {
      await step('settled');
    },
  };
  const catalog: Pick<TrackedCatalog, 'reload'> = {
    reload: async () => {
      await step('reload');
    },
  };
  /** The source still has a connection when it is first asked. */
  const open = [1];
  const connectionsOf = (name: string, sinceMs: number): Pick<FormerConnections, 'count'> => ({
    count: async () => {
      const count = open.shift() ?? 0;
      await step('source', name, sinceMs, count);
      return count;
    },
  });
  const leftIndexes = {
    records: [],
    refresh: async () => {
      await step('left indexes');
    },
  };
  const tuning = { concurrency: requestedConcurrency(1, 1) };
  const parts = {
    ...{ catalog, destination: { ...destination, leftIndexes }, syncStore: { lease } },
    sourceCluster: { formerConnections: { of: connectionsOf } },
    store: {
      live: { stored: record, current: record },
      step: async (_: string, run: () => Promise<void>) => {
        await run();
      },
    },
    options: { ...record.options, enableUserWriteBlocking },
    ...{ coordination: { share: undefined }, tuning },
    ...{ monitor: new SyncMonitor(), logger: createLogger('test', 'fatal') },
    signal: new AbortController().signal,
  };
  await new SyncRun(parts as unknown as RunParts).takeOver(7);
  return steps;
}

describe('SyncRun', () => {
  const former = `${syncerName}former`;
  for (const isSourceBlocked of [true, false])
    it(`takes over once nothing of the former coordinator can arrive on ${isSourceBlocked ? 'either side' : 'the destination'}, and only then forgets it`, async () => {
      const ofSource = [
        ['source', former, 7, 1],
        ['source', former, 7, 0],
      ];
      assert.deepEqual(await takenOver(isSourceBlocked), [
        ['readFormer'],
        ['destination', 'former', 7],
        ...(isSourceBlocked ? ofSource : []),
        ...[['left indexes'], ['settled'], ['forgetFormer', 'former'], ['reload']],
      ]);
    });
});
