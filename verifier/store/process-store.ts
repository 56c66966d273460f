import type { Collection, Document } from 'mongodb';
import { hasLeaseEnded, leaseEnd } from '../../mongo/lease.ts';
import { storedDocument } from '../../mongo/stored-document.ts';
import { readWhole } from '../../mongo/whole-reading.ts';
import { shortened } from '../../service/errors.ts';
import { leaseMs, onStore, type MetadataStore, type ProcessIdentity } from './metadata-store.ts';

interface StoredProcess extends Document {
  _id: { readonly verification: string; readonly id: string };
}

/** A process that is alive. */
export interface LivingProcess {
  readonly id: string;
  readonly incarnation: string;
  /** What it retried, or waited for, at its last heartbeat. */
  readonly warnings: readonly string[];
}

/** Of one process, in the metadata store. */
const maxWarnings = 5;
const maxWarningLength = 500;

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
   * Records that this process is alive, replacing any previous one with the same id.
   * @returns the previous one's incarnation.
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

  /**
   * Renews the record that this process is alive.
   * @param warnings - for the progress of the other processes: bounded here.
   * @returns false if another one has its id now.
   */
  async heartbeat(warnings: readonly string[]): Promise<boolean> {
    const { incarnation } = this.#identity;
    const alive = this.#alive(warnings);
    return await onStore(this.#store, async () => {
      const filter = { ...this.#key(), incarnation };
      const { matchedCount } = await this.#processes.updateOne(filter, alive);
      if (matchedCount > 0) return true;
      const other = await this.#processes.findOne(this.#key());
      if (other) return false;
      await this.#processes.updateOne(this.#key(), alive, { upsert: true });
      return true;
    });
  }

  /** The processes that are alive. */
  async living(): Promise<readonly LivingProcess[]> {
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
          // A process of an earlier version writes none.
          warnings: (process.optional('warnings')?.list() ?? []).map((one) => one.text()),
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

  #alive(warnings: readonly string[] = []): Document[] {
    const { incarnation } = this.#identity;
    const kept = warnings.slice(0, maxWarnings).map((text) => shortened(text, maxWarningLength));
    // Literal: the text of an error may begin with a dollar.
    const $set = { incarnation, until: leaseEnd(leaseMs), warnings: { $literal: kept } };
    return [{ $set }];
  }
}
