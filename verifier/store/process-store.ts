import type { Collection, Document } from 'mongodb';
import { hasLeaseEnded, leaseEnd } from '../../mongo/lease.ts';
import { storedDocument } from '../../mongo/stored-document.ts';
import { readWhole } from '../../mongo/whole-reading.ts';
import { leaseMs, onStore, type MetadataStore, type ProcessIdentity } from './metadata-store.ts';

interface StoredProcess extends Document {
  _id: { readonly verification: string; readonly id: string };
}

/** The processes that work on a verification. */
export class ProcessStore {
  readonly #store: MetadataStore;
  readonly #processes: Collection<StoredProcess>;
  readonly #identity: ProcessIdentity;

  constructor(store: MetadataStore, identity: ProcessIdentity) {
    this.#store = store;
    this.#identity = identity;
    this.#processes = store.db.collection('processes');
  }

  /**
   * Records that this process is alive, replacing any former one with the same id.
   * @returns the former one's incarnation.
   */
  async register(): Promise<string | undefined> {
    const { incarnation } = this.#identity;
    return await onStore(this.#store, async () => {
      const former = await this.#processes.findOneAndUpdate(this.#key(), this.#alive(), {
        upsert: true,
        returnDocument: 'before',
      });
      const before: unknown = former?.['incarnation'];
      return typeof before === 'string' && before !== incarnation ? before : undefined;
    });
  }

  /** Renews the record that this process is alive. @returns false if another one has its id now. */
  async heartbeat(): Promise<boolean> {
    const { incarnation } = this.#identity;
    return await onStore(this.#store, async () => {
      const filter = { ...this.#key(), incarnation };
      const { matchedCount } = await this.#processes.updateOne(filter, this.#alive());
      if (matchedCount > 0) return true;
      const other = await this.#processes.findOne(this.#key());
      if (other) return false;
      await this.#processes.updateOne(this.#key(), this.#alive(), { upsert: true });
      return true;
    });
  }

  /** Ids of the processes that are alive, and their incarnations. */
  async living(): Promise<readonly { readonly id: string; readonly incarnation: string }[]> {
    return await onStore(this.#store, async () => {
      const { verification } = this.#identity;
      const lives = { $expr: { $not: [hasLeaseEnded('$until')] } };
      const found = await readWhole(
        this.#processes.find({ '_id.verification': verification, ...lives }),
      );
      return found.map((one) => {
        const process = storedDocument(this.#processes, one);
        return {
          id: process.field('_id').field('id').text(),
          incarnation: process.field('incarnation').text(),
        };
      });
    });
  }

  /** Deletes the record of this process at its end. Not repeated. */
  async unregister(): Promise<void> {
    const { incarnation } = this.#identity;
    await this.#processes.deleteOne({ ...this.#key(), incarnation });
  }

  #key(): { _id: StoredProcess['_id'] } {
    const { verification, id } = this.#identity;
    return { _id: { verification, id } };
  }

  #alive(): Document[] {
    const { incarnation } = this.#identity;
    return [{ $set: { incarnation, until: leaseEnd(leaseMs) } }];
  }
}
