import assert from 'node:assert/strict';
import { BSON, type Document } from 'mongodb';
import { idKey } from '../compare/id-key.ts';
import { observedChange, type ObservedChange } from './observed-change.ts';

const ns = { db: 'shop', coll: 'items' };

describe('observedChange', () => {
  const table: readonly [Document, ObservedChange][] = [
    ...(
      [
        ['insert', 'insert'],
        ['update', 'update'],
        ['replace', 'update'],
        ['delete', 'delete'],
      ] as const
    ).map(([operationType, effect]): [Document, ObservedChange] => [
      { _id: { _data: '82' }, operationType, ns, documentKey: { shard: 1, _id: 'x' } },
      { kind: 'document', namespace: ns, id: idKey(BSON.serialize({ _id: 'x' })), effect },
    ]),
    ...['createIndexes', 'dropIndexes', 'modify', 'refineCollectionShardKey'].map(
      (operationType): [Document, ObservedChange] => [
        { operationType, ns },
        { kind: 'metadata', namespace: ns },
      ],
    ),
    ...['create', 'drop', 'shardCollection', 'unheardOf'].map(
      (operationType): [Document, ObservedChange] => [
        { operationType, ns },
        { kind: 'whole', namespaces: [ns] },
      ],
    ),
    [
      { operationType: 'rename', ns, to: { db: 'other', coll: 'things' } },
      { kind: 'whole', namespaces: [ns, { db: 'other', coll: 'things' }] },
    ],
    [
      { operationType: 'dropDatabase', ns: { db: 'shop' } },
      { kind: 'database', db: 'shop' },
    ],
  ];
  for (const [event, expected] of table) {
    it(`reads ${String(event['operationType'])}`, () => {
      assert.deepEqual(observedChange(BSON.serialize(event)), expected);
    });
  }
});
