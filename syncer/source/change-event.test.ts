import assert from 'node:assert/strict';
import { BSON, Timestamp, UUID } from 'mongodb';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import { endOfTransaction } from '../../mongo/server-features.ts';
import { changesOf } from '../instances/coordination.ts';
import { parseChangeEvent, type DocumentChange } from './change-event.ts';

const event = { _id: { _data: '82' }, clusterTime: new Timestamp({ t: 1_700_000_000, i: 7 }) };
const parsed = (more: object): ReturnType<typeof parseChangeEvent> =>
  parseChangeEvent(BSON.serialize({ ...event, ...more }));

describe('an event without a namespace', () => {
  it('is refused by its name if it is unknown', () => {
    assert.throws(() => parsed({ operationType: 'moveDatabase' }), {
      name: 'ChangeNotSupported',
      message: 'moveDatabase on the source is not supported',
    });
  });

  for (const operationType of ['drop', endOfTransaction])
    it(`is malformed if it is ${operationType}`, () => {
      assert.throws(() => parsed({ operationType }), MalformedAnswer);
    });
});

it('an unknown event with a namespace is read, so that its namespace decides', () => {
  const collectionUUID = new UUID();
  const ns = { db: 'shop', coll: 'orders' };
  const read = parsed({ operationType: 'reshardBegin', ns, collectionUUID });
  assert.ok(read.type === 'catalog');
  assert.deepEqual([read.operation, read.namespace], ['reshardBegin', ns]);
});

describe('an event of the catalog', () => {
  const ns = { db: 'shop', coll: 'orders' };
  const fields = { ns, collectionUUID: new UUID() };
  const indexes = [{ v: 2, key: { a: 1 }, name: 'a_1' }];
  const described = (operationDescription: object): object => ({ operationDescription });

  type Fault = readonly [what: string, change: object];
  const noUuid: Fault = ['without the UUID', { collectionUUID: undefined }];
  const noDescription: Fault = ['without a description', { operationDescription: undefined }];
  const ofIndexes: readonly [whole: object, faults: readonly Fault[]] = [
    described({ indexes }),
    [
      ...[noUuid, noDescription],
      ['without indexes', described({})],
      ['whose indexes are no array', described({ indexes: {} })],
    ],
  ];
  const kinds: Readonly<Record<string, typeof ofIndexes>> = {
    create: [described({ idIndex: {} }), [noUuid, noDescription]],
    modify: [described({ validationLevel: 'off' }), [noUuid, noDescription]],
    createIndexes: ofIndexes,
    dropIndexes: ofIndexes,
    rename: [
      { to: { db: 'shop', coll: 'sold' }, ...described({ dropTarget: new UUID() }) },
      [
        ...[noUuid, noDescription],
        ['without the new name', { to: undefined }],
        ['whose dropTarget is no UUID', described({ dropTarget: true })],
      ],
    ],
    shardCollection: [
      described({ shardKey: { a: 1 } }),
      [noUuid, noDescription, ['without the shard key', described({})]],
    ],
  };
  for (const [operationType, [whole, faults]] of Object.entries(kinds)) {
    it(`is read if it is a whole ${operationType}`, () => {
      assert.equal(parsed({ ...fields, operationType, ...whole }).type, 'catalog');
    });

    for (const [what, change] of faults)
      it(`is malformed if it is ${operationType} ${what}`, () => {
        assert.throws(
          () => parsed({ ...fields, operationType, ...whole, ...change }),
          MalformedAnswer,
        );
      });
  }

  it('has no UUID if it creates a view', () => {
    const view = described({ viewOn: 'orders', pipeline: [] });
    const read = parsed({ ns, operationType: 'create', ...view });
    assert.ok(read.type === 'catalog');
    assert.equal(read.uuid, undefined);
  });
});

/** The compiler refuses one that is missing, or too many. */
const documentKinds: Readonly<Record<DocumentChange['kind'], true>> = {
  insert: true,
  update: true,
  replace: true,
  delete: true,
};

describe('the changes of documents', () => {
  const operations = Object.keys(documentKinds);
  const catalogOperations = [
    ...['create', 'createIndexes', 'drop', 'dropDatabase', 'dropIndexes', 'modify', 'rename'],
    ...['shardCollection', 'refineCollectionShardKey', 'reshardCollection'],
  ];

  it('are the events that are read as such', () => {
    const ns = { db: 'shop', coll: 'orders' };
    const documents = { documentKey: { _id: 1 }, fullDocument: { _id: 1 } };
    const details = { operationDescription: { indexes: [], shardKey: {} } };
    const fields = {
      ...{ ns, to: ns, collectionUUID: new UUID(), ...documents, ...details },
      rawUpdateDescription: { diff: {} },
    };
    const read = [...operations, ...catalogOperations].filter(
      (operationType) => parsed({ ...fields, operationType }).type === 'document',
    );
    assert.deepEqual(read, operations);
  });

  it('are all that an instance requests its share of, and nothing else', () => {
    const asked = changesOf({ index: 0, count: 2, isByValue: true }, []) as {
      readonly $or: readonly [{ readonly operationType: { readonly $nin: readonly string[] } }];
    };
    assert.deepEqual(asked.$or[0].operationType.$nin.toSorted(), operations.toSorted());
  });
});
