import assert from 'node:assert/strict';
import { MongoError, type MongoClient } from 'mongodb';
import { Pace } from '../ground/workload/pace.ts';

/** Database of the ledger. */
export const ledgerDatabase = 'ledger';

/** Denser than other writes: at most moments when a primary is killed, one is on its way. */
const insertGapMs = 20;

/** Inserts documents one by one, and knows which of them a majority of the source has acknowledged. */
export class Ledger {
  readonly #acknowledged: number[] = [];

  get acknowledged(): number {
    return this.#acknowledged.length;
  }

  /** Writes until the signal is aborted. An insert that fails may be there or not. */
  async write(client: MongoClient, signal: AbortSignal): Promise<void> {
    const entries = client
      .db(ledgerDatabase)
      .collection<{ _id: number }>('entries', { writeConcern: { w: 'majority' } });
    const pace = new Pace(1, insertGapMs);
    for (let id = 0; await pace.next(signal); id++) {
      try {
        await entries.insertOne({ _id: id });
        this.#acknowledged.push(id);
      } catch (error) {
        if (!(error instanceof MongoError)) throw error;
      }
    }
  }

  /** Rejects unless a cluster has every acknowledged document. */
  async assertIn(client: MongoClient): Promise<void> {
    const entries = client.db(ledgerDatabase).collection<{ _id: number }>('entries');
    const present = new Set((await entries.find().toArray()).map(({ _id }) => _id));
    const lost = this.#acknowledged.filter((id) => !present.has(id));
    assert.deepEqual(lost, [], 'acknowledged documents are not there');
  }
}
