import type { SyncMonitor } from '../monitor/monitor.ts';
import type { WorkStore } from '../store/work-store.ts';
import type { StreamPosition } from './stream-positions.ts';

type CheckpointStore = Pick<WorkStore, 'saveCheckpoint'>;

/** What is stored in addition to the position. */
type AppliedFigures = Pick<SyncMonitor, 'appliedOpsTime' | 'eventsApplied'>;

/** How often a checkpoint is stored while events flow. */
const intervalMs = 1_000;

/** Stores how far change events have been applied, in the background, and one checkpoint at a time. */
export class Checkpoints {
  readonly #store: CheckpointStore;
  readonly #monitor: AppliedFigures;
  readonly #failed: (error: unknown) => void;
  #saving: Promise<void> = Promise.resolve();
  /** Those that wait, and the one under way. */
  #saves = 0;
  #savedAtMs = -Infinity;

  /** @param failed - called if a checkpoint that nobody waits for could not be stored. */
  constructor(store: CheckpointStore, monitor: AppliedFigures, failed: (error: unknown) => void) {
    this.#store = store;
    this.#monitor = monitor;
    this.#failed = failed;
  }

  /** A majority of the destination has everything up to a position: it is stored at intervals. */
  reached(position: StreamPosition): void {
    if (this.#saves > 0 || performance.now() - this.#savedAtMs < intervalMs) return;
    this.save(position).catch(this.#failed);
  }

  /** Stores a position that has been reached. */
  async save(position: StreamPosition): Promise<void> {
    // Together: many positions can be reached in one go.
    this.#saves++;
    const before = this.#saving;
    const saving = before.then(async () => {
      try {
        await this.#put(position);
      } finally {
        this.#saves--;
        this.#savedAtMs = performance.now();
      }
    });
    this.#saving = saving.catch(() => undefined);
    await saving;
  }

  /** Waits for a checkpoint that is being stored. */
  async stop(): Promise<void> {
    await this.#saving;
  }

  async #put({ token: resumeToken, time: appliedTime }: StreamPosition): Promise<void> {
    await this.#store.saveCheckpoint({
      resumeToken,
      appliedTime,
      appliedOpsTime: this.#monitor.appliedOpsTime,
      eventsApplied: this.#monitor.eventsApplied,
    });
  }
}
