import type { KubeObject } from '../kube/resource.ts';
import type { LeaseBook } from '../leases/lease-book.ts';
import { holderKey, holderOf, readHolder, type LeaseHolder } from '../leases/lease-holder.ts';
import { holdName, isHoldLease, leaseOf, readHold, type Hold, type WorkloadRef } from './hold.ts';
import { planRelease, type CommitStep, type WorkloadView } from './plan.ts';
import type { Workloads } from './workloads.ts';

/** What tells what has become of a ClusterSync. */
export interface HoldWitnesses {
  /** Whether it is known not to be there any more. */
  readonly isGone: (holder: LeaseHolder) => boolean;
  /** Whether pods of one that is gone may still work. */
  readonly isAtWork: (holder: LeaseHolder) => boolean;
}

/** Takes the steps of automatic commits, and remembers which workloads they have taken down. */
export class HoldKeeper {
  readonly #book: LeaseBook;
  readonly #workloads: Workloads;
  readonly #witnesses: HoldWitnesses;

  constructor(book: LeaseBook, workloads: Workloads, witnesses: HoldWitnesses) {
    this.#book = book;
    this.#workloads = workloads;
    this.#witnesses = witnesses;
  }

  /** What is on record for a ClusterSync. @throws TypeError where somebody has made that unreadable. */
  holdOf(owner: KubeObject): Hold | undefined {
    const lease = this.#book.get(holdName(holderOf(owner)));
    return lease && readHold(lease);
  }

  /** Looks at workloads of a ClusterSync's namespace. */
  async look(
    { metadata }: Pick<KubeObject, 'metadata'>,
    refs: readonly WorkloadRef[],
    signal: AbortSignal,
  ): Promise<WorkloadView[]> {
    return await this.#workloads.look(metadata.namespace ?? '', refs, signal);
  }

  /** Takes one step. What another one has changed meanwhile is looked at again: nothing is done by halves. */
  async take(step: CommitStep, holder: LeaseHolder, signal: AbortSignal): Promise<void> {
    switch (step.kind) {
      case 'none':
      case 'look':
      case 'send':
        return;
      case 'record':
        await this.#book.put(holdName(holder), leaseOf(step.hold), signal);
        return;
      case 'scale':
        await this.#workloads.scale(holder.namespace, step.scalings, signal);
        return;
      case 'drop':
        await this.#book.remove(holdName(holder), signal);
        return;
    }
  }

  /**
   * Gives the workloads their sizes back that ClusterSyncs of this name hold and that are gone; after a commit was sent, when
   * their pods are gone, too.
   * @returns whether something is left to be done.
   */
  async release(key: string, signal: AbortSignal): Promise<boolean> {
    let isLeft = false;
    for (const lease of this.#book.list()) {
      const holder = isHoldLease(lease) ? readHolder(lease) : undefined;
      if (!holder || holderKey(holder) !== key || !this.#witnesses.isGone(holder)) continue;
      isLeft = true;
      const hold = readHold(lease);
      // They carry out a commit that they have been given.
      if (hold.commitSentMs !== undefined && this.#witnesses.isAtWork(holder)) continue;
      const views = await this.#workloads.look(holder.namespace, hold.workloads, signal);
      await this.take(planRelease(hold, views), holder, signal);
    }
    return isLeft;
  }
}
