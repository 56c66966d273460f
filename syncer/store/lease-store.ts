import type { Collection, Document } from 'mongodb';
import { hasLeaseEnded, leaseEnd } from '../../mongo/lease.ts';
import { storedDocument } from '../../mongo/stored-document.ts';
import type { Stored } from './encoding.ts';

/** The lease of the coordinator: one document, `_id: 'coordinator'`, in the collection `sync`. */
export class LeaseStore {
  readonly #collection: Collection<Stored<string>>;
  readonly #instanceId: string;
  readonly #incarnation: string;
  readonly #signal: AbortSignal;

  constructor(
    collection: Collection<Stored<string>>,
    instance: { readonly id: string; readonly incarnation: string },
    signal: AbortSignal,
  ) {
    this.#collection = collection;
    this.#instanceId = instance.id;
    this.#incarnation = instance.incarnation;
    this.#signal = signal;
  }

  /** The coordinator, even if its lease ended a while ago; null if there was none yet. */
  async read(): Promise<string | null> {
    const found = await this.#collection.findOne({ _id: 'coordinator' }, { signal: this.#signal });
    return found && (storedDocument(this.#collection, found).orNull('holder')?.text() ?? null);
  }

  /**
   * Makes this process the coordinator for some time, by the server's clock, if it is already, or nobody is.
   * @param mayBeFirst - false if it must not become the very first one.
   * @returns false if another process is.
   */
  async take(leaseMs: number, mayBeFirst: boolean): Promise<boolean> {
    const nobody = { holder: null, incarnation: null, until: new Date(0) };
    await this.#collection.updateOne(
      { _id: 'coordinator' },
      { $setOnInsert: nobody },
      { upsert: true },
    );
    const isOver = { $and: [{ $ne: ['$holder', null] }, hasLeaseEnded('$until')] };
    const isFree = [
      isOver,
      { $eq: ['$holder', { $literal: this.#instanceId }] },
      ...(mayBeFirst ? [{ $eq: ['$holder', null] }] : []),
    ];
    const own = { $literal: this.#instanceId };
    const holder = { $cond: [{ $eq: ['$holder', null] }, [], ['$holder']] };
    const known = { $setUnion: [{ $ifNull: ['$former', []] }, holder] };
    const former = { $setDifference: [known, [own]] };
    return await this.#set(leaseMs, { $or: isFree }, { former });
  }

  /**
   * The instances that had the lease before this one, and of whose changes some may still be on their way: nobody has recorded
   * since that none is.
   */
  async readFormer(): Promise<readonly string[]> {
    const found = await this.#collection.findOne({ _id: 'coordinator' }, { signal: this.#signal });
    const former = found && storedDocument(this.#collection, found).optional('former')?.list();
    return former?.map((id) => id.text()) ?? [];
  }

  /**
   * Records that no change of these previous coordinators is on its way, unless another process is the coordinator by now. Others
   * that have been added meanwhile stay.
   */
  async forgetFormer(instances: readonly string[]): Promise<void> {
    const own = { _id: 'coordinator', incarnation: this.#incarnation };
    const known = { $ifNull: ['$former', []] };
    const former = { $setDifference: [known, { $literal: instances }] };
    await this.#collection.updateOne(own, [{ $set: { former } }]);
  }

  /** Remains the coordinator. @returns false if another process is by now. */
  async renew(leaseMs: number): Promise<boolean> {
    return await this.#set(leaseMs, { $eq: ['$incarnation', this.#incarnation] });
  }

  async #set(leaseMs: number, condition: Document, change: Document = {}): Promise<boolean> {
    const result = await this.#collection.updateOne({ _id: 'coordinator', $expr: condition }, [
      {
        $set: {
          holder: { $literal: this.#instanceId },
          incarnation: this.#incarnation,
          until: leaseEnd(leaseMs),
          ...change,
        },
      },
    ]);
    return result.matchedCount > 0;
  }
}
