import assert from 'node:assert/strict';
import { Double, MinKey, type Document } from 'mongodb';
import type { CheckAnswer, CheckFinding } from '../../../sync-api/json.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { commitAndWait, forward } from './cluster-pair.ts';
import { useMergedPair } from './merged-pair.ts';
import { failureOf } from './sharded-pair.ts';

interface Item extends Document {
  _id: string | number | Double;
}

const middle = 2100;
const asked = { detectDuplicateIds: true };

async function findingsOf(syncer: SyncerProcess, body: object = {}): Promise<readonly string[]> {
  const answer = await syncer.post('check', { ...forward, ...body });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const told = ({ severity, name, message }: CheckFinding): string =>
    `${severity} ${name}: ${message}`;
  return (answer.body as unknown as CheckAnswer).findings.map(told);
}

describe('POST /check of a sharded cluster for a replica set', () => {
  const pair = useMergedPair(2, { keepsOrphans: true });
  const shop = () => pair.source.client.db('shop');
  const source = () => shop().collection<Item>('items');

  beforeEach(async () => {
    await pair.reset();
  });

  it('finds nothing where nothing is sharded', async () => {
    await source().insertOne({ _id: 1 });
    await using syncer = await pair.syncer();
    assert.deepEqual(await findingsOf(syncer, asked), []);
  });

  it('names what is left out, and what could have several documents of one _id', async () => {
    await pair.halves('shop.items', middle);
    await pair.admin({ shardCollection: 'shop.hashed', key: { _id: 'hashed' } });
    const range = { min: { k: new MinKey() }, max: { k: middle } };
    await pair.admin({ addShardToZone: 'from-0', zone: 'near' });
    try {
      await pair.admin({ updateZoneKeyRange: 'shop.items', ...range, zone: 'near' });
      await using syncer = await pair.syncer();
      assert.deepEqual(await findingsOf(syncer), [
        'advice ShardKeysLeftOut: the destination is a replica set, where these are not sharded: shop.hashed {"_id":"hashed"}, shop.items {"k":1}',
        'advice ZonesLeftOut: the destination is a replica set, which has no zones: near, of shop.items',
        'advice DuplicateIdsPossible: the shard key does not keep ids unique over all shards: shop.items',
      ]);
      const body = { ...asked, reversible: true, enableUserWriteBlocking: true };
      assert.match(
        (await findingsOf(syncer, body)).join('\n'),
        /^blocker ReversibleNotSupported: a sync from a sharded cluster to a replica set cannot be reversed: the replica set does not have the shard keys/,
      );
    } finally {
      await pair.admin({ updateZoneKeyRange: 'shop.items', ...range, zone: null });
      await pair.admin({ removeShardFromZone: 'from-0', zone: 'near' });
    }
  });

  it('searches for documents of one _id on different shards, and finds no orphans among them', async () => {
    await pair.halves('shop.items', middle);
    await pair.halves('shop.other', middle);
    const rows = Array.from({ length: 1_000 }, (_, _id) => ({ _id, k: _id * 7 }));
    await source().insertMany(rows);
    await shop().collection<Item>('other').insertMany(rows);
    await pair.admin({ split: 'shop.items', middle: { k: 700 } });
    await pair.admin({ moveChunk: 'shop.items', find: { k: 0 }, to: 'from-1' });
    const onShard = pair.source.ground?.cluster.shardClient('from-0').db('shop');
    assert.equal(await onShard?.collection('items').countDocuments({ k: { $lt: 700 } }), 100);
    const collation = { locale: 'en', strength: 2 };
    const simple = { locale: 'simple' };
    await shop().createCollection('words', { collation });
    await shop()
      .collection('words')
      .createIndexes([{ key: { k: 1 }, collation: simple }]);
    await pair.admin({ shardCollection: 'shop.words', key: { k: 1 }, collation: simple });
    await pair.admin({ split: 'shop.words', middle: { k: middle } });
    await pair.admin({ moveChunk: 'shop.words', find: { k: middle }, to: 'from-1' });
    const words = shop().collection<Item>('words');
    await words.insertMany([
      { _id: 'a', k: 1 },
      { _id: 'b', k: 4000 },
    ]);
    await using syncer = await pair.syncer();
    const warnings = async (): Promise<readonly string[]> =>
      (await findingsOf(syncer, asked)).filter((text) => text.startsWith('warning'));
    assert.deepEqual(await warnings(), []);

    const others = [130, 131, new Double(132), 133, 134, 135, 136].map((_id) => ({ _id, k: 5000 }));
    await source().insertMany(others);
    await words.insertOne({ _id: 'A', k: 4001 });
    const [first, second, ...more] = await warnings();
    assert.match(
      first ?? '',
      /^warning DuplicateIdsFound: shop\.items has several documents with the _id 13\d(?:, 13\d){4}, on different shards of the source$/,
    );
    assert.match(
      second ?? '',
      /^warning DuplicateIdsFound: shop\.words has several documents with the _id "a", on different/i,
    );
    assert.deepEqual(more, []);

    await syncer.start({ ...forward, ...asked });
    assert.match(await failureOf(syncer), /^DuplicateIds: shop\.(?:items|words) has several/);
    const names = await pair.destination.client.db('shop').listCollections().toArray();
    assert.deepEqual(names, [], 'nothing was copied');
    await source().deleteMany({ _id: { $in: others.map(({ _id }) => _id) }, k: 5000 });
    await words.deleteOne({ _id: 'A', k: 4001 });
    await syncer.kill('SIGTERM');
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
    assert.equal(
      await pair.destination.client.db('shop').collection('items').countDocuments(),
      1_000,
    );
  });

  it('finds ids that no single command can name', async () => {
    await pair.halves('shop.items', middle);
    const text = 'x'.repeat(1_000_000);
    for (let n = 0; n < 20; n++)
      for (const k of [n, middle + n]) await source().insertOne({ _id: `${n}${text}`, k });
    await using syncer = await pair.syncer();
    const [warning, ...more] = (await findingsOf(syncer, asked)).filter((told) =>
      told.startsWith('warning'),
    );
    assert.match(warning ?? '', /^warning DuplicateIdsFound: shop\.items has several .*"\d+xxx/);
    assert.ok(Number(warning?.length) < 2_000, 'without all of the ids');
    assert.deepEqual(more, []);
  });
});
