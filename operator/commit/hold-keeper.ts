import type { KubeObject } from '../kube/resource.ts';
import type { LeaseBook } from '../leases/lease-book.ts';
import { holderKey, holderOf, readHolder, type LeaseHolder } from '../leases/lease-holder.ts';
import { holdName, isHoldLease, leaseOf, readHold, type Hold, type WorkloadRef } from './hold.ts';
import { planRelease, type CommitStep, type WorkloadView } from './plan.ts';
import type { Workloads } from './workloads.ts';

/** Shows what happened to a ClusterSync. */
export interface HoldWitnesses {
  /** Whether it is known to be gone. */
  readonly isGone: (holder: LeaseHolder) => boolean;
  /** Whether pods of a ClusterSync that is gone may still work. */
  readonly isAtWork: (holder: LeaseHolder) => boolean;
}

/** Takes the steps of automatic commits, and records which workloads they have scaled down. */
export class HoldKeeper {
  readonly #book: LeaseBook;
  readonly #workloads: Workloads;
  readonly #witnesses: HoldWitnesses;

  constructor(book: LeaseBook, workloads: Workloads, witnesses: HoldWitnesses) {
    this.#book = book;
    this.#workloads = workloads;
    this.#witnesses = witnesses;
  }

  /** The record for a ClusterSync. @throws TypeError if somebody has made it unreadable. */
  holdOf(owner: KubeObject): Hold | undefined {
    const lease = this.#book.get(holdName(holderOf(owner)));
    return lease && readHold(lease);
  }

  /** Reads workloads of a ClusterSync's namespace. */
  async look(
    { metadata }: Pick<KubeObject, 'metadata'>,
    refs: readonly WorkloadRef[],
    signal: AbortSignal,
  ): Promise<WorkloadView[]> {
    return await this.#workloads.look(metadata.namespace ?? '', refs, signal);
  }

  /**
   * Takes one step. If somebody else has changed something meanwhile, it is read again: nothing is half done.
   * @returns whether what is to be recorded is on record.
   */
  async take(step: CommitStep, holder: LeaseHolder, signal: AbortSignal): Promise<boolean> {
    switch (step.kind) {
      case 'none':
      case 'look':
      case 'send':
        return true;
      case 'record':
        return await this.#book.put(holdName(holder), leaseOf(step.hold), signal);
      case 'scale':
        await this.#workloads.scale(holder.namespace, step, signal);
        return true;
      case 'drop':
        await this.#book.remove(holdName(holder), signal);
        return true;
    }
  }

  /**
   * Restores the sizes of workloads held for ClusterSyncs of this name that are gone; after a commit was sent, only once
   * their pods are gone, too.
   * @returns whether something is left to do.
   */
  async release(key: string, signal: AbortSignal): Promise<boolean> {
    let isLeft = false;
    for (const lease of this.#book.list()) {
      const holder = isHoldLease(lease) ? readHolder(lease) : undefined;
      if (!holder || holderKey(holder) !== key || !this.#witnesses.isGone(holder)) continue;
      isLeft = true;
      const hold = readHold(lease);
      // They carry out a commit that they have accepted.
      if (hold.commitSentMs !== undefined && this.#witnesses.isAtWork(holder)) continue;
      const views = await this.#workloads.look(holder.namespace, hold.workloads, signal);
      await this.take(planRelease(hold, views), holder, signal);
    }
    return isLeft;
  }
}
