import assert from 'node:assert/strict';
import { Timestamp, UUID } from 'mongodb';
import type { ShardKey } from '../../mongo/shard-key.ts';
import type { TrackedCollection } from '../store/records.ts';
import { suspectsOf } from './sharded-source.ts';
import type { ShardedCollection } from '../../mongo/config-database.ts';

const [one, other] = [new UUID(), new UUID()];
const [oneHex, otherHex] = [one.toHexString(false), other.toHexString(false)];
const key: ShardKey = [{ field: 'number', kind: 1 }];
const never = new Timestamp({ t: 0, i: 0 });

function tracked(shardKey: ShardKey | null): TrackedCollection {
  return {
    uuid: one,
    namespace: { db: 'shop', coll: 'items' },
    destinationUuid: null,
    shardKey,
    options: {},
    indexes: [],
    namedAt: never,
    namedBy: never,
    replacedUuid: null,
    specifiedAt: never,
    sizeBytes: 0,
    documentCount: 0,
    isAdopted: false,
    isCopied: true,
  };
}

describe('collections that may have been resharded', () => {
  const cases: readonly (readonly [
    what: string,
    shardKey: ShardKey | null,
    sharded: Readonly<Record<string, string>>,
    found: readonly (readonly [string, string])[],
  ])[] = [
    ['its name has another one', key, { [otherHex]: 'shop.items' }, [[oneHex, otherHex]]],
    ['it is as it was', key, { [oneHex]: 'shop.items' }, []],
    [
      'it was renamed, and another has its name',
      key,
      { [oneHex]: 'shop.old', [otherHex]: 'shop.items' },
      [],
    ],
    ['it is gone', key, { [otherHex]: 'shop.others' }, []],
    ['it has no shard key', null, { [otherHex]: 'shop.items' }, []],
  ];
  for (const [what, shardKey, sharded, found] of cases) {
    it(`${found.length > 0 ? 'are those of which' : 'are none where'} ${what}`, () => {
      const source = Object.entries(sharded).map(
        ([uuid, namespace]): [string, ShardedCollection] => [
          uuid,
          { namespace, key, isUnique: false },
        ],
      );
      assert.deepEqual([...suspectsOf([tracked(shardKey)], new Map(source))], found);
    });
  }
});
