import type { PageScope } from '../../../dashboard/api/messages.ts';
import type { CollectionsView, SyncSummary } from '../../../dashboard/api/sync-view.ts';
import type { DashboardSource, SyncLook } from '../../../dashboard/server/dashboard.ts';
import { allCopied } from '../../../sync-api/syncer-answers.ts';
import type { Instances } from '../../api/instances.ts';
import type { View } from '../../render/frame.ts';
import {
  isCopied,
  runDetail,
  runKey,
  runSummary,
  type RunEnd,
  type RunFacts,
  type RunState,
} from './run-views.ts';

const deadlineMs = 2_000;

/** What the command knows about the one sync that it carries out. */
export class RunSource implements DashboardSource {
  #state: RunState;
  #instances: Instances | undefined;
  #collections: CollectionsView | null = null;
  /** Whether the sync was seen before it was copied, and before it was committed. */
  readonly #seen = { copying: false, committing: false };

  constructor(facts: RunFacts, now: Date) {
    this.#state = {
      ...facts,
      beganAt: now.toISOString(),
      ...{ copiedAt: null, committedAt: null, view: undefined, end: undefined },
    };
  }

  /** From now on the syncers can be queried. */
  ask(instances: Instances): void {
    this.#instances = instances;
  }

  /** Stores the current state of the sync. */
  show(view: View, now: Date): void {
    const { sync } = view;
    let { copiedAt, committedAt } = this.#state;
    if (!isCopied(sync)) this.#seen.copying = true;
    else if (this.#seen.copying) copiedAt ??= now.toISOString();
    if (sync.state !== 'COMMITTED') this.#seen.committing = true;
    else if (this.#seen.committing) committedAt ??= now.toISOString();
    this.#state = { ...this.#state, view, copiedAt, committedAt };
  }

  /** Stores the reason why the command ends before the migration does. */
  end(end: RunEnd): void {
    this.#state = { ...this.#state, end };
  }

  page = (): PageScope => ({ scope: 'clustersync run', staleness: null });

  summaries = (): readonly SyncSummary[] => [runSummary(this.#state)];

  look = (key: string): SyncLook => ({
    read: async (signal) => {
      if (key !== runKey.key) return undefined;
      await this.#askForCollections(signal);
      return runDetail(this.#state, this.#collections);
    },
  });

  /** Queried only while a page is open; they no longer change once everything is copied. */
  async #askForCollections(signal: AbortSignal): Promise<void> {
    const { view } = this.#state;
    const known = this.#collections;
    if (!this.#instances || !view) return;
    if (isCopied(view.sync) && known !== null && known.copied === known.total) return;
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
    try {
      const listed = await this.#instances.collections(deadline);
      this.#collections = isCopied(view.sync) ? allCopied(listed) : listed;
    } catch {
      // A syncer that does not answer now is queried again.
      signal.throwIfAborted();
    }
  }
}
