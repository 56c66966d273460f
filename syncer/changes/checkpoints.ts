import { retrying } from '../../mongo/retrying.ts';
import type { SyncContext } from '../context/sync-context.ts';
import type { StreamPosition } from './change-lanes.ts';

/** A checkpoint is stored this often while events flow. */
const intervalMs = 1_000;

/** Stores how far change events have been applied, beside the applying, and one at a time. */
export class Checkpoints {
  readonly #context: SyncContext;
  readonly #failed: (error: unknown) => void;
  #saving: Promise<void> = Promise.resolve();
  #isSaving = false;
  #savedAt = 0;

  /** @param failed - called when a checkpoint could not be stored that nobody waits for. */
  constructor(context: SyncContext, failed: (error: unknown) => void) {
    this.#context = context;
    this.#failed = failed;
  }

  /** Everything up to a position is on a majority of the destination: it is stored now and then. */
  reached(position: StreamPosition): void {
    if (this.#isSaving || Date.now() - this.#savedAt < intervalMs) return;
    this.save(position).catch(this.#failed);
  }

  /** Stores a position that has been reached. */
  async save(position: StreamPosition): Promise<void> {
    const before = this.#saving;
    const saving = before.then(async () => {
      this.#isSaving = true;
      try {
        await this.#store(position);
      } finally {
        this.#isSaving = false;
        this.#savedAt = Date.now();
      }
    });
    this.#saving = saving.catch(() => undefined);
    await saving;
  }

  /** Waits for what is under way. */
  async stop(): Promise<void> {
    await this.#saving;
  }

  async #store({ token: resumeToken, time: appliedTime }: StreamPosition): Promise<void> {
    await retrying(this.#context, 'checkpoint', async () => {
      await this.#context.store.saveCheckpoint({
        resumeToken,
        appliedTime,
        appliedOpsTime: this.#context.monitor.appliedOpsTime,
        eventsApplied: this.#context.monitor.eventsApplied,
      });
    });
  }
}
