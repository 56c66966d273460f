import assert from 'node:assert/strict';
import { BSON, Timestamp, UUID, type Document } from 'mongodb';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import { idElement, type RawDocument, type RawElement } from '../../mongo/raw-bson.ts';
import { decodeElement } from '../../mongo/raw-value.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import { playedCursors } from '../../mongo/testing/played-cursors.ts';
import { ShardedSourceKind } from './sharded-source.ts';
import { SourceDocuments } from './source-documents.ts';

type Parts = ConstructorParameters<typeof SourceDocuments>[0];

const clusterTime = new Timestamp({ t: 1_700_000_000, i: 7 });
const collectionUUID = new UUID();
const document = { _id: 5, n: 1 };

/** Documents of which a source has some under each id that is asked for. */
class KnownDocuments extends SourceDocuments {
  readonly asked: unknown[] = [];
  readonly #found: readonly Document[];

  constructor(found: readonly Document[]) {
    super({ catalog: { collection: () => undefined } } as unknown as Parts);
    this.#found = found;
  }

  override async *read(
    collection: UUID,
    ids: readonly RawElement[],
    after: Timestamp | null = null,
  ): AsyncGenerator<readonly RawDocument[]> {
    this.asked.push([collection.toString(), ids.map(decodeElement).map(Number), after]);
    for (const each of this.#found) yield await Promise.resolve([BSON.serialize(each)]);
  }
}

function eventOf(operationType: string, fields: object = {}): RawDocument {
  const documentKey = { _id: 5 };
  const _id = { _data: 'token' };
  return BSON.serialize({
    _id,
    operationType,
    clusterTime,
    collectionUUID,
    documentKey,
    ...fields,
  });
}

describe('completeEvent', () => {
  const whole: readonly (readonly [string, RawDocument])[] = [
    ['an insert with its document', eventOf('insert', { fullDocument: document })],
    ['an update with its difference', eventOf('update', { rawUpdateDescription: { diff: {} } })],
    ['a delete', eventOf('delete')],
    ['a change of the catalog', BSON.serialize({ operationType: 'drop', collectionUUID })],
    ['an event of no collection', BSON.serialize({ operationType: 'insert', documentKey: {} })],
  ];
  for (const [what, event] of whole) {
    it(`leaves ${what} as it is, and reads nothing`, async () => {
      const documents = new KnownDocuments([]);
      assert.equal(await documents.completeEvent(event), event);
      assert.deepEqual(documents.asked, []);
    });
  }

  for (const [operation, expected] of [
    ['insert', 'insert'],
    ['replace', 'replace'],
    ['update', 'replace'],
  ] as const) {
    it(`gives an abbreviated ${operation} the document, not older than the event`, async () => {
      const documents = new KnownDocuments([document]);
      const completed = await documents.completeEvent(eventOf(operation));
      assert.ok(completed);
      const { operationType, fullDocument, clusterTime: time } = BSON.deserialize(completed);
      assert.deepEqual([operationType, fullDocument, time], [expected, document, clusterTime]);
      assert.deepEqual(documents.asked, [[collectionUUID.toString(), [5], clusterTime]]);
    });
  }

  it('leaves out a document that is gone: its delete is still to come', async () => {
    assert.equal(await new KnownDocuments([]).completeEvent(eventOf('insert')), undefined);
  });

  it('refuses an event that does not say which document it is about', async () => {
    const event = eventOf('insert', { documentKey: { k: 1 } });
    await assert.rejects(new KnownDocuments([document]).completeEvent(event), MalformedAnswer);
  });
});

describe('a read of documents that take the place of changes', () => {
  const cases: readonly (readonly [what: string, shardKey: ShardKey | null, level: string])[] = [
    ['at one time if the collection has a shard key', [{ field: 'n', kind: 1 }], 'snapshot'],
    ['of what a majority has if it has none', null, 'majority'],
  ];
  for (const [what, shardKey, level] of cases)
    it(`is ${what}, and not older than the change`, async () => {
      const { cluster, sent } = playedCursors(() => ({ documents: [document] }));
      const { signal } = new AbortController();
      const tracked = { namespace: { db: 'shop', coll: 'items' }, shardKey };
      const catalog = { collection: () => tracked, collections: () => [] };
      const known = { receivedTime: null, appliedTime: null };
      const kind = new ShardedSourceKind(
        cluster as unknown as Parts['deployment'],
        catalog as unknown as Parts['catalog'],
        known,
        signal,
      );
      const parts = { deployment: cluster, kind, catalog, known, signal } as unknown as Parts;
      const id = idElement(BSON.serialize(document));
      const found = await new SourceDocuments(parts).readOne(collectionUUID, id, clusterTime);
      assert.deepEqual(found && BSON.deserialize(found), document);
      assert.deepEqual(
        sent.map(({ command }): unknown => command['readConcern']),
        [{ level, afterClusterTime: clusterTime }],
      );
    });
});

describe('readOne', () => {
  it('returns the one document of an _id, and does not choose between two', async () => {
    const id = idElement(BSON.serialize(document));
    const found = await new KnownDocuments([document]).readOne(collectionUUID, id);
    assert.ok(found);
    assert.deepEqual(BSON.deserialize(found), document);
    await assert.rejects(new KnownDocuments([document, document]).readOne(collectionUUID, id), {
      name: 'DuplicateIds',
    });
  });
});
