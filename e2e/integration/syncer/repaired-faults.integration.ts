import assert from 'node:assert/strict';
import { catalogFaults } from '../verifier/catalog-faults.ts';
import { documentFaults } from '../verifier/document-faults.ts';
import { load } from '../verifier/faulty-shop.ts';
import { commitAndWait, useClusterPair } from './cluster-pair.ts';

const faults = [...documentFaults, ...catalogFaults];
const names = faults.map((_, number) => `shop${number}`);

/** What two values of the same size do not show. */
const notTold = ['double, which is another', 'decimal, which is another', 'the type of an _id'];

/** Every fault that the verifier is shown to find, in a database of its own, all of them brought right by one sync. */
describe('faults of a copy that is on the destination', () => {
  const pair = useClusterPair();

  before(async () => {
    for (const [number, { inject }] of faults.entries()) {
      const name = names[number] ?? '';
      await load(pair.source.client.db(name));
      const copy = pair.destination.client.db(name);
      await load(copy);
      await inject(copy);
    }
  });

  it('are repaired, each: by hashes all that a hash tells, and the rest by bytes', async () => {
    assert.ok(faults.length >= 82, `${faults.length} faults`);
    await using syncer = await pair.syncing({ initialData: 'Present' });
    assert.deepEqual(await differing(), notTold);
    assert.equal((await syncer.post('repair', { comparison: 'bytes' })).status, 200);
    const { reconciliation } = await syncer.waitFor(({ canCommit }) => canCommit);
    // The type of an _id is that of a document too many, and of one that is missing.
    assert.equal(reconciliation?.changedDocuments, notTold.length + 1);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  /** The faults of documents that are still there. */
  async function differing(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const [number, { name }] of faults.entries()) {
      const [one, other] = await Promise.all(
        [pair.source, pair.destination].map(async ({ client }) => {
          const items = client.db(names[number]).collection('items');
          return await items.find({}, { raw: true, sort: { _id: 1 } }).toArray();
        }),
      );
      if (JSON.stringify(one) !== JSON.stringify(other)) found.push(name);
    }
    return found;
  }
});
