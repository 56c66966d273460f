import assert from 'node:assert/strict';
import { BSON, ObjectId } from 'mongodb';
import { forward, useClusterPair } from './cluster-pair.ts';

describe('the partitions of a collection', () => {
  const pair = useClusterPair();

  // Of so many ranges between sampled ids, some are far too large: seen without the cut, 161 of 100 documents.
  it('have about the same number of documents, though a sample is uneven', async () => {
    const documents = 20_000;
    const partitions = 200;
    const rows = Array.from({ length: documents }, (_, number) => ({
      _id: new ObjectId(),
      number,
    }));
    await pair.source.client.db('shop').collection('rows').insertMany(rows);
    const rowBytes = BSON.calculateObjectSize({ _id: new ObjectId(), number: 1 });
    const partitionMebibytes = (documents * rowBytes) / partitions / 1024 / 1024;
    await using syncer = await pair.syncing(forward, { options: { partitionMebibytes } });
    const lines = (await syncer.log())
      .split('\n')
      .filter((line) => line.includes('partition copied'));
    const counts = lines.map((line) => (JSON.parse(line) as { bytes: number }).bytes / rowBytes);
    assert.ok(counts.length >= partitions * 0.9, `${counts.length} partitions`);
    const most = Math.max(...counts);
    assert.ok(most <= 1.5 * (documents / partitions) + 1, `one has ${most} documents`);
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      documents,
    );
    await pair.assertEqual();
  });
});
