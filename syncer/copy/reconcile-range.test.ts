import assert from 'node:assert/strict';
import { BSON, UUID } from 'mongodb';
import type { Fingerprint } from '../../mongo/fingerprints.ts';
import { wholeRange } from '../../mongo/id-range.ts';
import { idElement, type RawDocument, type RawElement } from '../../mongo/raw-bson.ts';
import { decodeElement } from '../../mongo/raw-value.ts';
import { ConcurrencyLimit, exactly } from '../../service/concurrency-limit.ts';
import { createLogger } from '../../service/logger.ts';
import type { Destination } from '../destination/destination.ts';
import type { WorkPace } from '../limits/pace.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';
import { AttemptFigures } from './attempt-figures.ts';
import { CopySlots } from './copy-slots.ts';
import { RangeReconciler } from './reconcile-range.ts';

const nothing = async (): Promise<void> => {
  await Promise.resolve();
};

const namespace = { db: 'shop', coll: 'items' };

/** Reconciles a collection of one document with a destination that has none, with a single slot for what is written. */
function ground(failing: ReadonlySet<'delete' | 'insert'>) {
  const document = BSON.serialize({ _id: 'a' });
  const there = new Set<string>();
  const fail = (what: 'delete' | 'insert'): void => {
    if (failing.has(what)) throw new Error(`${what} has failed`);
  };
  const fingerprints = (present: readonly RawDocument[]) => () => ({
    async *byBytes(): AsyncGenerator<Fingerprint & { readonly bytes: number }, void> {
      for (const each of present) {
        await Promise.resolve();
        yield { id: idElement(each), bytes: each.length, hash: 1n };
      }
    },
  });
  const source = {
    kind: { checkDuplicateIds: nothing },
    documents: { fingerprints: fingerprints([document]), read: () => [[document]] },
  };
  const destination = {
    timeNow: nothing,
    documents: {
      fingerprints: fingerprints([]),
      delete: async (_: unknown, ids: readonly RawElement[]) => {
        await Promise.resolve();
        fail('delete');
        for (const id of ids) there.delete(String(decodeElement(id)));
      },
      insert: async (_: unknown, documents: readonly RawDocument[]) => {
        await Promise.resolve();
        fail('insert');
        for (const each of documents) there.add(String(decodeElement(idElement(each))));
        return [];
      },
    },
  };
  const pace = {
    fetch: { count: Infinity, bytes: Infinity },
    copy: nothing,
  };
  const monitor = new SyncMonitor();
  const slots = new CopySlots(new ConcurrencyLimit(exactly(1)));
  const reconciler = new RangeReconciler(
    source as unknown as Source,
    destination as unknown as Destination,
    {
      ...{ monitor, slots, pace: pace as unknown as WorkPace },
      ...{ logger: createLogger('test', 'fatal'), comparison: () => 'bytes' },
    },
  );
  const collection = {
    ...{ uuid: new UUID(), namespace, options: {}, shardKey: null, isAdopted: true },
    ...{ sizeBytes: document.length, documentCount: 1 },
  } as unknown as TrackedCollection;
  const reconcile = async (): Promise<void> => {
    await AttemptFigures.during(monitor, async (figures) => {
      await reconciler.reconcile({ collection, from: namespace, range: wholeRange, figures });
    });
  };
  return { reconcile, there, slots };
}

describe('RangeReconciler', () => {
  for (const what of ['delete', 'insert'] as const)
    it(`gives its slot back when its ${what} fails, so that the next attempt gets one`, async () => {
      const failing = new Set([what]);
      const { reconcile, there, slots } = ground(failing);
      await assert.rejects(reconcile(), { message: `${what} has failed` });
      const free = await Promise.race([
        slots.take(1),
        new Promise<undefined>((resolve) => setImmediate(resolve, undefined)),
      ]);
      assert.ok(free, 'the slot is free');
      free.giveBack();
      failing.clear();
      await reconcile();
      assert.deepEqual([...there], ['a']);
    });
});
