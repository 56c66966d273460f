import assert from 'node:assert/strict';
import { BSON, MongoServerError, UUID, type Document } from 'mongodb';
import type { Deployment } from '../../mongo/deployment.ts';
import { serverCode } from '../../mongo/server-errors.ts';
import { shardKeyIndexName, type ShardKey } from '../../mongo/shard-key.ts';
import { decodeIndexSpec, type IndexSpec } from '../../mongo/specification.ts';
import { createLogger } from '../../service/logger.ts';
import type { DestinationCatalog, IndexSettings } from './destination-catalog.ts';
import { DestinationSharding } from './destination-sharding.ts';

const namespace = { db: 'shop', coll: 'items' };
const shardKey: ShardKey = [
  { field: 'a', kind: 1 },
  { field: 'b', kind: 'hashed' },
];
const keyOfIndex = { a: 1, b: 'hashed' };
/** On the shard key, and a field that no document has. */
const temporary = { ...keyOfIndex, [shardKeyIndexName]: 1 };
const refused = 72;
const temporarilyFailed = 6;

function index(name: string, key: Document, options: Document = {}): IndexSpec {
  return decodeIndexSpec(BSON.serialize({ v: 2, key, name, ...options }));
}

interface Scene {
  readonly present?: readonly IndexSpec[];
  /** The codes with which the next changes of the catalog are refused. */
  readonly codes?: readonly (number | undefined)[];
  readonly buildIndexes?: 'never';
}

/** A destination that has some indexes, and what was changed in its catalog. */
function scene({ present = [], codes = [], buildIndexes }: Scene) {
  const changes: string[] = [];
  const warnings: string[] = [];
  const left = [...codes];
  const change = async (text: string): Promise<void> => {
    const code = left.shift();
    changes.push(text);
    if (code !== undefined) throw new MongoServerError({ message: 'not so', code });
    await Promise.resolve();
  };
  const catalog = {
    indexesOf: async () => await Promise.resolve(present),
    createIndexes: async (_: unknown, specs: readonly IndexSpec[], settings?: IndexSettings) => {
      const only = settings?.collectionUUID ? ` only in ${settings.collectionUUID.toString()}` : '';
      for (const { name, key } of specs)
        await change(`create ${name} ${JSON.stringify(key.decode())}${only}`);
    },
    dropIndex: async (_: unknown, name: string) => {
      await change(`drop ${name}`);
    },
    place: async (command: Document) => {
      await change(Object.keys(command)[0] ?? '');
    },
  };
  const sharding = new DestinationSharding({
    // A replica set, which answers nothing.
    deployment: { shards: [] as readonly string[] } as Deployment,
    catalog: catalog as unknown as DestinationCatalog,
    options: { buildIndexes: buildIndexes ?? 'beforeDataCopy' },
    logger: createLogger('test', 'fatal'),
    warn: async (warning) => {
      warnings.push(warning);
      await Promise.resolve();
    },
    step: async (_, run) => {
      await run();
    },
    signal: new AbortController().signal,
  });
  return { sharding, changes, warnings };
}

const creation = `create ${shardKeyIndexName} ${JSON.stringify(temporary)}`;
const server = (code: number) => ({ name: 'MongoServerError', code });

describe('DestinationSharding', () => {
  it('builds an index for a shard key unless there is one that stays visible', async () => {
    const supporting = index('x', { ...keyOfIndex, c: 1 });
    const cases: readonly (readonly [string, Scene, readonly IndexSpec[], readonly string[]])[] = [
      ['there is none', {}, [], [creation]],
      ['another one', { present: [index('x', { b: 1 })] }, [], [creation]],
      ['one', { present: [supporting] }, [supporting], []],
      [
        'one that will be hidden',
        { present: [supporting] },
        [index('x', { ...keyOfIndex, c: 1 }, { hidden: true })],
        [creation],
      ],
      [
        'a temporary one for a former key, and one of the source',
        { present: [index(shardKeyIndexName, { former: 1 })] },
        [index('other', { b: 1 }), supporting],
        [`create x ${JSON.stringify({ ...keyOfIndex, c: 1 })}`],
      ],
    ];
    for (const [what, world, trueIndexes, expected] of cases) {
      const { sharding, changes } = scene(world);
      await sharding.supportShardKey({ namespace }, trueIndexes, shardKey);
      assert.deepEqual(changes, expected, what);
    }
  });

  it('builds indexes only in the collection with a UUID, beside users who may put another in its place', async () => {
    const uuid = new UUID();
    const only = ` only in ${uuid.toString()}`;
    const target = { namespace, uuid };
    const none = scene({});
    await none.sharding.supportShardKey(target, [], shardKey);
    const own = scene({ present: [index(shardKeyIndexName, { former: 1 })] });
    await own.sharding.supportShardKey(target, [index('x', keyOfIndex)], shardKey);
    const settled = scene({ present: [index(shardKeyIndexName, temporary)] });
    await settled.sharding.settleShardKeyIndex(target, shardKey);
    assert.deepEqual(none.changes, [`${creation}${only}`]);
    assert.deepEqual(own.changes, [`create x ${JSON.stringify(keyOfIndex)}${only}`]);
    const plain = `create a_1_b_hashed ${JSON.stringify(keyOfIndex)}${only}`;
    assert.deepEqual(settled.changes, [plain, `drop ${shardKeyIndexName}`]);
    const moved = scene({
      present: [index(shardKeyIndexName, temporary)],
      codes: [serverCode.collectionUuidMismatch],
    });
    await assert.rejects(moved.sharding.settleShardKeyIndex(target, shardKey), {
      code: serverCode.collectionUuidMismatch,
    });
    assert.deepEqual(moved.warnings, []);
  });

  it('drops the last index of a shard key once there is another one', async () => {
    const { sharding, changes } = scene({ codes: [serverCode.cannotDropShardKeyIndex] });
    await sharding.dropIndex({ namespace, shardKey }, 'x');
    assert.deepEqual(changes, ['drop x', creation, 'drop x']);
  });

  it('builds nothing to drop an index that is refused for another reason', async () => {
    for (const [code, key] of [
      [refused, shardKey],
      [serverCode.cannotDropShardKeyIndex, null],
    ] as const) {
      const { sharding, changes } = scene({ codes: [code] });
      await assert.rejects(sharding.dropIndex({ namespace, shardKey: key }, 'x'), server(code));
      assert.deepEqual(changes, ['drop x']);
    }
  });

  it('leaves a collection with one index for its shard key, which the source has if it has any', async () => {
    const own = index(shardKeyIndexName, temporary);
    const other = index('x', keyOfIndex);
    const dropped = `drop ${shardKeyIndexName}`;
    const created = `create a_1_b_hashed ${JSON.stringify(keyOfIndex)}`;
    const cases: readonly (readonly [string, Scene, readonly string[]])[] = [
      ['no other', { present: [own] }, [created, dropped]],
      ['one of the source', { present: [other, own] }, [dropped]],
      ['none that was built for the sync', { present: [other] }, []],
      ['no indexes are built', { present: [own], buildIndexes: 'never' }, []],
    ];
    for (const [what, world, expected] of cases) {
      const { sharding, changes, warnings } = scene(world);
      await sharding.settleShardKeyIndex({ namespace }, shardKey);
      assert.deepEqual([changes, warnings], [expected, []], what);
    }
  });

  it('keeps the index of a shard key, with a warning, if no other can take its place', async () => {
    const present = [index(shardKeyIndexName, temporary)];
    const { sharding, changes, warnings } = scene({ present, codes: [refused] });
    await sharding.settleShardKeyIndex({ namespace }, shardKey);
    assert.equal(changes.length, 1);
    assert.deepEqual(warnings, [`index ${shardKeyIndexName} of shop.items stays: not so`]);
    const failing = scene({ present, codes: [temporarilyFailed] });
    const settling = failing.sharding.settleShardKeyIndex({ namespace }, shardKey);
    await assert.rejects(settling, server(temporarilyFailed));
  });

  it('keeps a shorter shard key, with a warning, only if the server refuses the longer one', async () => {
    const { sharding, warnings } = scene({ codes: [refused, undefined, temporarilyFailed] });
    assert.equal(await sharding.refine(namespace, shardKey), false);
    assert.deepEqual(warnings, ['shop.items keeps its shard key: not so']);
    assert.equal(await sharding.refine(namespace, shardKey), true);
    await assert.rejects(sharding.refine(namespace, shardKey), server(temporarilyFailed));
    assert.equal(warnings.length, 1);
  });

  it('leaves out a split that is refused, and no other', async () => {
    const { sharding } = scene({ codes: [refused, temporarilyFailed] });
    await sharding.split(namespace, { a: 1 });
    await assert.rejects(sharding.split(namespace, { a: 1 }), server(temporarilyFailed));
  });

  it('asks a replica set for no shard keys, and nobody for zones that no range needs', async () => {
    const { sharding, changes } = scene({});
    assert.deepEqual([...(await sharding.shardedCollections())], []);
    assert.equal(await sharding.setZones(namespace, []), false);
    assert.deepEqual(changes, []);
  });
});
