import assert from 'node:assert/strict';
import { BSON, UUID } from 'mongodb';
import type { Fingerprint } from '../../mongo/fingerprints.ts';
import { wholeRange } from '../../mongo/id-range.ts';
import { idElement, type RawDocument, type RawElement } from '../../mongo/raw-bson.ts';
import { decodeElement } from '../../mongo/raw-value.ts';
import { ConcurrencyLimit, exactly } from '../../service/concurrency-limit.ts';
import { SyncError } from '../../service/errors.ts';
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

interface Scene {
  readonly failing?: ReadonlySet<'delete' | 'insert'>;
  /** Documents of the source; one by default. */
  readonly documents?: readonly RawDocument[];
  /** The fields `k` of the documents that a shard of the destination refuses. */
  readonly refused?: readonly number[];
  readonly mergesShards?: boolean;
  readonly checkDuplicateIds?: (_: unknown, ids: readonly RawElement[]) => Promise<void>;
}

/** Reconciles a collection with a destination that has none of it, with a single slot for what is written. */
function ground({ failing = new Set(), refused = [], mergesShards = false, ...scene }: Scene) {
  const { documents: all = [BSON.serialize({ _id: 'a' })], checkDuplicateIds = nothing } = scene;
  const there: RawDocument[] = [];
  const calls: string[] = [];
  const fail = (what: 'delete' | 'insert'): void => {
    calls.push(what);
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
    kind: {
      checkDuplicateIds: async (_: unknown, ids: readonly RawElement[]) => {
        calls.push('check');
        await checkDuplicateIds(_, ids);
      },
    },
    documents: { fingerprints: fingerprints(all), read: () => [all] },
  };
  const destination = {
    timeNow: nothing,
    kind: { mergesShards: () => mergesShards },
    documents: {
      fingerprints: fingerprints([]),
      delete: async (_: unknown, ids: readonly RawElement[]) => {
        await Promise.resolve();
        fail('delete');
        for (const id of ids.map((each) => decodeElement(each)))
          there.splice(0, there.length, ...there.filter((each) => idOf(each) !== id));
      },
      insert: async (_: unknown, documents: readonly RawDocument[]) => {
        await Promise.resolve();
        fail('insert');
        const taken = documents.filter((each) =>
          refused.includes(BSON.deserialize(each)['k'] as number),
        );
        there.push(...documents.filter((each) => !taken.includes(each)));
        return taken;
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
    ...{ sizeBytes: 100, documentCount: all.length },
  } as unknown as TrackedCollection;
  const reconcile = async (): Promise<void> => {
    await AttemptFigures.during(monitor, async (figures) => {
      await reconciler.reconcile({ collection, from: namespace, range: wholeRange, figures });
    });
  };
  return { reconcile, there, calls, slots };
}

function idOf(document: RawDocument): unknown {
  return decodeElement(idElement(document));
}

describe('RangeReconciler', () => {
  for (const what of ['delete', 'insert'] as const)
    it(`gives its slot back when its ${what} fails, so that the next attempt gets one`, async () => {
      const failing = new Set([what]);
      const { reconcile, there, slots } = ground({ failing });
      await assert.rejects(reconcile(), { message: `${what} has failed` });
      const free = await Promise.race([
        slots.take(1),
        new Promise<undefined>((resolve) => setImmediate(resolve, undefined)),
      ]);
      assert.ok(free, 'the slot is free');
      free.giveBack();
      failing.clear();
      await reconcile();
      assert.deepEqual(there.map(idOf), ['a']);
    });

  describe('where documents of the source share an _id', () => {
    const documents = [1, 2].map((k) => BSON.serialize({ _id: 'a', k }));
    const duplicates = new SyncError('DuplicateIds', 'twice');
    const checkDuplicateIds = async (): Promise<void> => {
      await Promise.reject(duplicates);
    };

    it('brings them all if the destination has room for each on a shard', async () => {
      const { reconcile, there, calls } = ground({ documents, checkDuplicateIds });
      await reconcile();
      assert.deepEqual(there, documents);
      assert.deepEqual(calls, ['delete', 'insert']);
    });

    it('looks for them before it deletes anything if the destination has no shards', async () => {
      const { reconcile, calls } = ground({ documents, checkDuplicateIds, mergesShards: true });
      await assert.rejects(reconcile(), duplicates);
      assert.deepEqual(calls, ['check']);
    });

    it('fails if a shard has room for only one, and tells that from an orphan', async () => {
      const crowded = ground({ documents, checkDuplicateIds, refused: [2] });
      await assert.rejects(crowded.reconcile(), duplicates);
      const checked: unknown[] = [];
      const orphan = ground({
        documents: [BSON.serialize({ _id: 'a', k: 1 }), BSON.serialize({ _id: 'b', k: 2 })],
        refused: [2],
        checkDuplicateIds: async (_, ids) => {
          checked.push(...ids.map((id) => decodeElement(id)));
          await nothing();
        },
      });
      await assert.rejects(orphan.reconcile(), { name: 'OrphanInTheWay' });
      assert.deepEqual(checked, ['b'], 'only what was refused');
    });
  });
});
