import assert from 'node:assert/strict';
import type { Collection, Db } from 'mongodb';
import { until } from '../../ground/until.ts';
import { useClusterPair } from './cluster-pair.ts';
import { startProxied } from './proxied-instances.ts';

interface Row {
  readonly _id: number;
  readonly state: string;
}

/** So many that each instance compares some of them. */
const names = Array.from({ length: 12 }, (_, index) => `items${index}`);

const documentCount = 100;

/** What a write of the former state contains. */
const held = 'the former state';

describe('a repair of several instances', () => {
  const pair = useClusterPair();

  beforeEach(async () => {
    await pair.reset();
  });

  it('waits for what each of them has sent before: arriving later, it would undo what was compared', async () => {
    const rows = (name: string): Collection<Row> => shop().collection<Row>(name);
    const shop = (): Db => pair.source.client.db('shop');
    const put = async (state: string): Promise<void> => {
      for (const name of names) await rows(name).updateMany({}, { $set: { state } });
    };
    for (const name of names)
      await rows(name).insertMany(
        Array.from({ length: documentCount }, (_, _id) => ({ _id, state: 'the first state' })),
      );
    await using proxied = await startProxied(pair);
    const { instances } = proxied;
    await instances.start();
    const { coordinator, other, otherProxy } = await proxied.roles();
    // Those of the next process pass.
    let isHeld = true;
    otherProxy.strandAt((bytes) => isHeld && bytes.includes(held));
    await put(held);
    await until('writes are held', () => otherProxy.stranded > 0);
    await other.kill();
    isHeld = false;
    await other.restart();
    await put('the last state');

    await instances.send('repair');
    await until('the coordinator waits, or compares', async () => {
      const { reconciliation, warnings } = await coordinator.progress();
      const isWaiting = (warnings ?? []).some((one) =>
        one.includes('has not ended its earlier work'),
      );
      return isWaiting || (reconciliation?.comparedDocuments ?? 0) > 0;
    });
    assert.ok(otherProxy.stranded > 0);
    const { reconciliation } = await coordinator.progress();
    assert.equal(reconciliation?.comparedDocuments, 0);
    otherProxy.release();
    await instances.waitFor(({ canCommit, repairs }) => canCommit && repairs === 1);
    await instances.commit();
    await instances.waitFor(({ state }) => state === 'COMMITTED');
    await pair.assertEqual();
  });
});
