import assert from 'node:assert/strict';
import { BSON, MongoServerError, UUID } from 'mongodb';
import { canonicalKey } from '../../mongo/canonical-id.ts';
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
import type { TrackedCollection } from '../store/records.ts';
import { ChangeApplier } from './apply-changes.ts';

function keyOf(id: string): DocumentKey {
  const element = idElement(BSON.serialize({ _id: id }));
  const canonical = canonicalKey(element);
  return { id: element, placed: undefined, exact: canonical, canonical };
}

function change(kind: DocumentChange['kind'], id: string): DocumentChange {
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

/** Applies changes to a destination that has some documents, and notes the writes. */
function ground(options: object, failing?: string) {
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
    insert: async (_: unknown, all: readonly RawDocument[]) => {
      await note(`put ${namesOf(all)}`);
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
    addressingOf: () => 'byId',
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
      ...['delete a,b', 'put a,b', 'update a'],
      ...['delete c,d', 'put c,d', 'delete c', 'put c'],
      ...['delete d', 'delete e', 'put e'],
    ]);
  });

  it('fails as any of its writes does, once all have ended', async () => {
    const { apply, writes, monitor } = ground({}, 'delete d');
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
