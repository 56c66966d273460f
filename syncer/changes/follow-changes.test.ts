import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { BSON, Double, Int32, Timestamp, UUID, type Document } from 'mongodb';
import { resumeTokenTime } from '../../mongo/cluster-time.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import { createLogger } from '../../service/logger.ts';
import { Alone } from '../instances/coordination.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import type { CatalogEvent } from '../source/change-event.ts';
import type { ChangeBatch } from '../source/change-reader.ts';
import { followChanges, type FollowParts } from './follow-changes.ts';

const uuid = new UUID();
const seconds = 1_700_000_000;
const timeOf = (i: number): Timestamp => new Timestamp({ t: seconds, i });
const tokenOf = (i: number): Document => ({
  _data: `82${[seconds, i].map((part) => part.toString(16).padStart(8, '0')).join('')}`,
});

const eventOf = (i: number, fields: object): RawDocument =>
  BSON.serialize({
    ...{ _id: tokenOf(i), clusterTime: timeOf(i), collectionUUID: uuid },
    ...{ ns: { db: 'shop', coll: 'items' }, ...fields },
  });

/** Puts a document in the place of the one with a key. */
const replaceOf = (i: number, documentKey: { readonly _id: unknown }): RawDocument =>
  eventOf(i, { operationType: 'replace', documentKey, fullDocument: { ...documentKey, n: i } });

const dropOf = (i: number): RawDocument => eventOf(i, { operationType: 'drop' });

const batchOf = (events: readonly RawDocument[], i: number): ChangeBatch => ({
  events,
  bytes: events.reduce((sum, { length }) => sum + length, 0),
  token: BSON.serialize(tokenOf(i)),
});

interface Scene {
  readonly batches: Iterable<ChangeBatch>;
  /** The end of the changes. */
  readonly commitTime: Timestamp;
  readonly options?: object;
  readonly shardKey?: object;
  readonly pace?: {
    readonly concurrentBatches?: number;
    readonly changes?: number;
    readonly apply?: () => Promise<void>;
  };
}

/** Applies all changes, and tells what was done, in order, and how many batches were under way at the same time. */
async function follow({ batches, commitTime, options = {}, ...scene }: Scene) {
  const done: string[] = [];
  let [underWay, most] = [0, 0];
  const nothing = async (): Promise<void> => {
    await Promise.resolve();
  };
  const within = <T extends object>(part: T) => ({ ...part, within: (): T => part });
  const collection = {
    ...{ uuid, namespace: { db: 'shop', coll: 'items' }, options },
    shardKey: scene.shardKey ?? null,
  };
  const source = {
    within: (signal: AbortSignal) => ({
      kind: {
        addressingOf: () => (scene.shardKey === undefined ? 'byId' : 'byShardKey'),
        checkDuplicateIds: nothing,
        checkUnknown: (hex: string) => done.push(`unknown ${hex}`),
      },
      async *changes(): AsyncGenerator<ChangeBatch, void> {
        yield* batches;
        await once(signal, 'abort');
      },
    }),
  };
  const documents = {
    update: async (_: unknown, statements: readonly RawDocument[]) => {
      for (const statement of statements) {
        const { u } = BSON.deserialize(statement) as { readonly u: Document };
        done.push(String(u['n']));
      }
      const noErrors = { writeErrors: [], upserted: [], writeConcernError: undefined };
      return await Promise.resolve({ n: statements.length, ...noErrors });
    },
    deleteByKeys: nothing,
  };
  const destination = within({
    documents,
    kind: { mergesShards: () => false },
    leftIndexes: { records: [] },
    step: async (what: string, run: (attempt: number) => Promise<void>) => {
      most = Math.max(most, ++underWay);
      // As long as it takes until all have begun that may.
      for (let turn = 0; what === 'apply' && turn < 20; turn++) await setImmediate();
      await run(0);
      underWay--;
    },
  });
  const store = within({
    awaitCommitTime: async () => await Promise.resolve(commitTime),
    saveCheckpoint: async ({ resumeToken }: { readonly resumeToken: RawDocument }) => {
      done.push(`stored ${resumeTokenTime(resumeToken).i}`);
      await Promise.resolve();
    },
  });
  const catalogChanges = within({
    apply: async ({ operation }: CatalogEvent) => {
      done.push(operation);
      await Promise.resolve();
    },
  });
  const pace = within({
    ...{ concurrentBatches: Infinity, changes: Infinity, apply: nothing },
    ...scene.pace,
  });
  const parts = {
    ...{ source, destination, store, catalogChanges, pace, applyWorkers: undefined },
    catalog: {
      collections: () => [collection],
      collection: (hex: string) => (hex === uuid.toHexString(false) ? collection : undefined),
    },
    coordination: new Alone(() => undefined),
    ...{ monitor: new SyncMonitor(), logger: createLogger('test', 'fatal') },
    signal: new AbortController().signal,
  };
  const start = { at: timeOf(0) };
  await followChanges(parts as unknown as FollowParts, start, { isPausing: () => false });
  return { done, most };
}

describe('followChanges', () => {
  it('applies all of the last batch, around changes of the catalog, and nothing after the commit time', async () => {
    const events = [
      replaceOf(1, { _id: 1 }),
      dropOf(2),
      replaceOf(3, { _id: 3 }),
      dropOf(4),
      replaceOf(5, { _id: 5 }),
    ];
    const later = [replaceOf(7, { _id: 7 }), dropOf(8)];
    const last = batchOf([...events, ...later], 9);
    const { done } = await follow({
      batches: [last, batchOf([dropOf(10)], 11)],
      commitTime: timeOf(6),
    });
    // Checkpoints in the background are not of interest here.
    assert.deepEqual(
      done.filter((text) => !text.startsWith('stored')),
      ['1', 'drop', '3', 'drop', '5'],
    );
    assert.equal(done.at(-1), 'stored 9');
  });

  it('has applied a batch although nothing tracks the collections of some events', async () => {
    const collectionUUID = new UUID();
    const others = [2, 3, 5].map((i) =>
      eventOf(i, {
        ...{ operationType: 'replace', documentKey: { _id: i }, fullDocument: { _id: i, n: i } },
        collectionUUID,
      }),
    );
    const [first, second, last] = others;
    assert.ok(first && second && last);
    const events = [replaceOf(1, { _id: 1 }), first, second, replaceOf(4, { _id: 4 }), last];
    const { done } = await follow({ batches: [batchOf(events, 6)], commitTime: timeOf(6) });
    const unknown = `unknown ${collectionUUID.toHexString(false)}`;
    assert.deepEqual(done.filter((text) => !text.startsWith('stored')).toSorted(), [
      '1',
      '4',
      unknown,
      unknown,
      unknown,
    ]);
    assert.equal(done.at(-1), 'stored 6');
  });

  it('stops reading while a change is held back, though nothing tracks what comes after it', async () => {
    const held = Promise.withResolvers<undefined>();
    const fields = { operationType: 'delete', documentKey: { _id: 2 } };
    const other = eventOf(2, { ...fields, collectionUUID: new UUID() });
    const most = 20_000;
    let read = 0;
    function* batches(): Generator<ChangeBatch> {
      yield batchOf([replaceOf(1, { _id: 1 })], 1);
      for (; read < most; read++) yield batchOf([other], 2);
      yield batchOf([], 3);
    }
    const apply = async (): Promise<void> => {
      await held.promise;
    };
    const following = follow({ batches: batches(), commitTime: timeOf(3), pace: { apply } });
    for (let before = -1; before !== read;) {
      before = read;
      for (let turn = 0; turn < 10; turn++) await setImmediate();
    }
    assert.ok(read > 0 && read < most, String(read));
    held.resolve(undefined);
    const { done } = await following;
    assert.equal(read, most);
    assert.equal(done.at(-1), 'stored 3');
  });

  const one = new Int32(1);
  const cases: readonly (readonly [string, readonly [object, object], Partial<Scene>, number])[] = [
    ['two documents', [{ _id: 1 }, { _id: 2 }], {}, 2],
    ['an _id that the server takes for the same', [{ _id: one }, { _id: new Double(1) }], {}, 1],
    [
      'an _id with two shard keys',
      [
        { k: 1, _id: one },
        { k: 2, _id: one },
      ],
      { shardKey: [{ field: 'k', kind: 1 }] },
      1,
    ],
    ['a capped collection', [{ _id: 1 }, { _id: 2 }], { options: { capped: true } }, 1],
    [
      'a collection with a collation',
      [{ _id: 'a' }, { _id: 'A' }],
      { options: { collation: { locale: 'en' } } },
      1,
    ],
    ['a single batch at most', [{ _id: 1 }, { _id: 2 }], { pace: { concurrentBatches: 1 } }, 1],
  ];
  for (const [what, keys, scene, expected] of cases)
    it(`applies changes ${expected === 1 ? 'one after the other' : 'side by side'}: ${what}`, async () => {
      const events = keys.map((key, at) => replaceOf(at + 1, key as { readonly _id: unknown }));
      const { done, most } = await follow({
        ...{ batches: [batchOf(events, 3)], commitTime: timeOf(3), ...scene },
        // Each change is a batch.
        pace: { changes: 1, ...scene.pace },
      });
      assert.equal(most, expected);
      const applied = done.filter((text) => !text.startsWith('stored'));
      assert.deepEqual(applied, ['1', '2']);
    });
});
