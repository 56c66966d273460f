import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON, Double, Int32, MongoServerError, UUID } from 'mongodb';
import { canonicalKey, exactKey } from '../../mongo/canonical-id.ts';
import type { DocumentKey } from '../../mongo/document-key.ts';
import { elementsOf, idElement, type RawDocument, type RawElement } from '../../mongo/raw-bson.ts';
import { decodeElement } from '../../mongo/raw-value.ts';
import { serverCode } from '../../mongo/server-errors.ts';
import type { WriteAnswer, WriteError } from '../../mongo/write-answer.ts';
import { createLogger } from '../../service/logger.ts';
import type { Destination } from '../destination/destination.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import type { DocumentChange } from '../source/change-event.ts';
import type { Source } from '../source/source.ts';
import type { Addressing, TrackedCollection } from '../store/records.ts';
import { ChangeApplier, coalesce, splitByShardKey, type WriteBatch } from './apply-changes.ts';

function keyOf(id: unknown): DocumentKey {
  const element = idElement(BSON.serialize({ _id: id }));
  return {
    id: element,
    placed: undefined,
    exact: exactKey(element),
    canonical: canonicalKey(element),
  };
}

function change(kind: DocumentChange['kind'], id: unknown): DocumentChange {
  const key = keyOf(id);
  if (kind === 'delete') return { kind, key };
  if (kind !== 'update') return { kind, key, document: BSON.serialize({ _id: id }) };
  const [diff] = elementsOf(BSON.serialize({ diff: { u: { n: 1 } } }));
  assert.ok(diff);
  return { kind, key, diff };
}

const inserts = (...ids: readonly string[]) => ids.map((id) => change('insert', id));
const idsText = (ids: readonly RawElement[]): string =>
  ids.map((id) => String(decodeElement(id))).join();
const namesOf = (documents: readonly RawDocument[]): string => idsText(documents.map(idElement));
const namesIn = (statements: readonly RawDocument[]): string =>
  statements.map((each) => (BSON.deserialize(each) as { q: { _id: string } }).q._id).join();

const taken = (index: number): WriteError => {
  const code = serverCode.duplicateKey;
  const toError = (): MongoServerError => new MongoServerError({ message: 'taken', code });
  return { index, code, keyPattern: { _id: 1 }, toError };
};

/** Where documents may be, and the write that fails. */
interface Scene {
  readonly addressing?: Addressing;
  readonly failing?: string;
}

/** Applies changes to a destination that has some documents, and notes the writes. */
function ground(options: object, { addressing = 'byId', failing }: Scene = {}) {
  const there = new Set<string>();
  const writes: string[] = [];
  const note = async (text: string): Promise<void> => {
    writes.push(text);
    await Promise.resolve();
    if (text === failing) throw new Error(`${text} has failed`);
  };
  const documents = {
    tryInsert: async (_: unknown, all: readonly RawDocument[]) => {
      await note(`insert ${namesOf(all)}`);
      return all.flatMap((each, at) => (there.has(namesOf([each])) ? [taken(at)] : []));
    },
    update: async (_: unknown, statements: readonly RawDocument[]): Promise<WriteAnswer> => {
      await note(`update ${namesIn(statements)}`);
      const upserted = [...statements.keys()].filter(
        (at) => !there.has(namesIn(statements.slice(at, at + 1))),
      );
      return { n: statements.length, writeErrors: [], upserted, writeConcernError: undefined };
    },
    insert: async (
      _: unknown,
      all: readonly RawDocument[],
      { isInOrder = false }: { readonly isInOrder?: boolean } = {},
    ) => {
      await note(`put ${namesOf(all)}${isInOrder ? ' in order' : ''}`);
      return [];
    },
    delete: async (_: unknown, ids: readonly RawElement[]) => {
      await note(`delete ${idsText(ids)}`);
    },
    deleteByKeys: async (_: unknown, __: unknown, keys: readonly DocumentKey[]) => {
      if (keys.length > 0) await note(`delete ${idsText(keys.map(({ id }) => id))}`);
    },
  };
  const kind = {
    addressingOf: () => addressing,
    checkDuplicateIds: async () => {
      await Promise.resolve();
    },
  };
  const source = { kind, documents: { read: () => [] } };
  const destination = {
    documents,
    kind: { mergesShards: () => false },
    step: async (_: unknown, run: () => Promise<void>) => {
      await run();
    },
  };
  const monitor = new SyncMonitor();
  const applier = new ChangeApplier(
    source as unknown as Source,
    destination as unknown as Destination,
    monitor,
    createLogger('test', 'fatal'),
  );
  const namespace = { db: 'shop', coll: 'items' };
  const described = { uuid: new UUID(), namespace, options, shardKey: null };
  const collection = described as unknown as TrackedCollection;
  /** The writes that some changes lead to. */
  const apply = async (...changes: readonly DocumentChange[]): Promise<string[]> => {
    writes.length = 0;
    await applier.apply(collection, changes);
    return [...writes];
  };
  return { there, monitor, apply, writes };
}

describe('ChangeApplier', () => {
  it('sends inserts as replacements where most were refused, until most are new again', async () => {
    const { there, apply } = ground({});
    there.add('a').add('b');
    // Half of them: it may be the end of what is repeated.
    assert.deepEqual(await apply(...inserts('a', 'x')), ['insert a,x', 'update a']);
    assert.deepEqual(await apply(...inserts('a', 'b', 'x')), ['insert a,b,x', 'update a,b']);
    assert.deepEqual(await apply(...inserts('a', 'x')), ['update a,x']);
    assert.deepEqual(await apply(...inserts('a', 'x', 'y')), ['update a,x,y']);
    assert.deepEqual(await apply(...inserts('x')), ['insert x']);
  });

  it('inserts before it updates, and puts what the server would alter as a replacement', async () => {
    const { apply } = ground({});
    const zero = BSON.serialize({ _id: 'z', at: new BSON.Timestamp({ t: 0, i: 0 }) });
    const altered: DocumentChange = { kind: 'insert', key: keyOf('z'), document: zero };
    assert.deepEqual(await apply(change('replace', 'r'), altered, change('insert', 'i')), [
      'insert i',
      'update r,z',
    ]);
  });

  it('keeps the order of a capped collection, with as few inserts as it allows', async () => {
    const { apply } = ground({ capped: true });
    const changes = [
      ...inserts('a', 'b'),
      change('update', 'a'),
      ...inserts('c', 'd', 'c'),
      change('delete', 'd'),
      change('insert', 'e'),
    ];
    assert.deepEqual(await apply(...changes), [
      ...['delete a,b', 'put a,b in order', 'update a'],
      ...['delete c,d', 'put c,d in order', 'delete c', 'put c in order'],
      ...['delete d', 'delete e', 'put e in order'],
    ]);
  });

  it('has deleted under a collation what an insert may be equal to', async () => {
    const { apply } = ground({ collation: { locale: 'en', strength: 2 } });
    const changes = [change('delete', 'a'), change('insert', 'A')];
    assert.deepEqual(await apply(...changes), ['delete a', 'insert A']);
  });

  it('puts whole documents before it updates them, though another may be on any shard', async () => {
    const { apply } = ground({}, { addressing: 'onEveryShard' });
    assert.deepEqual(await apply(change('insert', 'a'), change('update', 'a')), [
      ...['delete a', 'put a', 'update a'],
    ]);
  });

  it('fails as any of its writes does, once all have ended', async () => {
    const { apply, writes, monitor } = ground({}, { failing: 'delete d' });
    await assert.rejects(apply(change('replace', 'r'), change('delete', 'd')), {
      message: 'delete d has failed',
    });
    assert.deepEqual(writes.toSorted(), ['delete d', 'update r']);
    assert.equal(monitor.eventsApplied, 0);
  });

  it('counts every change that it has applied, also those that others have made unnecessary', async () => {
    const { apply, monitor } = ground({});
    await apply(change('insert', 'a'), change('update', 'a'), change('delete', 'a'));
    assert.equal(monitor.eventsApplied, 3);
  });
});

/** A model of a collection: a document is the list of changes that made it. */
type Model = Map<string, string>;

function applyChange(
  model: Model,
  change: DocumentChange,
  mark: (change: DocumentChange) => string,
): void {
  const { canonical } = change.key;
  switch (change.kind) {
    case 'insert':
    case 'replace':
      model.set(canonical, mark(change));
      return;
    case 'update': {
      const before = model.get(canonical);
      if (before !== undefined) model.set(canonical, `${before},${mark(change)}`);
      return;
    }
    case 'delete':
      model.delete(canonical);
  }
}

describe('coalesce', () => {
  const kinds = ['insert', 'replace', 'update', 'delete'] as const;
  // 1 and 1.0 are the same key for the server.
  const ids = [new Int32(1), new Double(1), new Int32(2), 'a', { x: 1 }];

  it('leads to the same documents, whatever was there before', () => {
    const step = fc.record({ kind: fc.constantFrom(...kinds), id: fc.constantFrom(...ids) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.subarray(ids), (steps, present) => {
        const changes = steps.map(({ kind, id }) => change(kind, id));
        const numbers = new Map(
          changes.map((change, index) => [change, `${change.kind}#${index}`]),
        );
        const mark = (change: DocumentChange): string => numbers.get(change) ?? '';
        const start = (): Model => new Map(present.map((id) => [keyOf(id).canonical, 'before']));
        const expected = start();
        for (const change of changes) applyChange(expected, change, mark);
        const actual = start();
        for (const { writes, deletes } of coalesce(changes)) {
          // The two parts may go in either order.
          for (const change of [...deletes, ...writes]) applyChange(actual, change, mark);
        }
        assert.deepEqual([...actual].sort(), [...expected].sort());
      }),
      { numRuns: 500 },
    );
  });

  it('never has writes and deletes in one batch under a collation', () => {
    // Equal to each other for the server under a collation that ignores case.
    const changes = (
      [
        ['insert', 'a'],
        ['update', 'a'],
        ['delete', 'a'],
        ['insert', 'A'],
        ['delete', 'A'],
        ['delete', 'b'],
        ['insert', 'a'],
        ['insert', 'B'],
      ] as const
    ).map(([kind, id]) => change(kind, id));
    const batches = coalesce(changes, { isCollated: true });
    assert.deepEqual(
      batches.map(({ writes, deletes }) => [writes.length, deletes.length]),
      [
        [2, 0],
        [0, 1],
        [1, 0],
        [0, 2],
        [2, 0],
      ],
    );
  });

  it('sends only the last whole document', () => {
    const changes = (['insert', 'update', 'replace', 'update', 'update'] as const).map((kind) =>
      change(kind, 'a'),
    );
    const [batch] = coalesce(changes);
    assert.deepEqual(
      batch?.writes.map(({ kind }) => kind),
      ['replace', 'update', 'update'],
    );
    assert.deepEqual(batch.deletes, []);
  });
});

describe('splitByShardKey', () => {
  function keyed(kind: 'update' | 'delete', key: object): DocumentChange {
    const bytes = BSON.serialize(key);
    const id = idElement(bytes);
    const placed = Object.keys(key).length > 1 ? bytes : undefined;
    const named = { id, placed, exact: JSON.stringify(key), canonical: canonicalKey(id) };
    return kind === 'delete' ? { kind, key: named } : { kind, key: named, diff: id };
  }

  it('takes out what has no shard key in its event, of writes and of deletes', () => {
    const writes = [keyed('update', { k: 1, _id: 1 }), keyed('update', { _id: 2 })];
    const deletes = [keyed('delete', { _id: 3 }), keyed('delete', { k: 4, _id: 4 })];
    const split = splitByShardKey({ writes, deletes } as WriteBatch, {
      isSharded: true,
      knownKey: null,
    });
    assert.deepEqual(split, {
      writes: [writes[0]],
      deletes: [deletes[1]],
      withoutShardKey: [writes[1], deletes[0]],
    });
  });

  it('takes out what names another shard key than the known one, which was refined', () => {
    const writes = [keyed('update', { k: 1, _id: 1 }), keyed('update', { k: 2, l: 1, _id: 2 })];
    const deletes = [keyed('delete', { k: 3, l: 1, _id: 3 }), keyed('delete', { _id: 4 })];
    const batch = { writes, deletes } as WriteBatch;
    const byKey = { isSharded: true, knownKey: [{ field: 'k', kind: 1 }] } as const;
    assert.deepEqual(splitByShardKey(batch, byKey), {
      writes: [writes[0]],
      deletes: [],
      withoutShardKey: [writes[1], ...deletes],
    });
    const byId = { isSharded: false, knownKey: [{ field: '_id', kind: 1 }] } as const;
    assert.deepEqual(splitByShardKey(batch, byId), {
      writes: [],
      deletes: [deletes[1]],
      withoutShardKey: [...writes, deletes[0]],
    });
    const asUnsharded = { isSharded: false, knownKey: null };
    assert.deepEqual(splitByShardKey(batch, asUnsharded), { ...batch, withoutShardKey: [] });
  });
});
