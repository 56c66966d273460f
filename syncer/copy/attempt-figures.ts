import type { UUID } from 'mongodb';
import type { SyncMonitor } from '../monitor/monitor.ts';

/**
 * What one attempt to copy adds to the figures of the copy. They are shown while it lasts, and taken back if it fails: the next
 * attempt copies the same documents, and a percentage that counts them twice is too high.
 */
export class AttemptFigures {
  readonly #monitor: SyncMonitor;
  readonly #bytesOf = new Map<UUID, number>();
  #copied = 0;
  #compared = 0;

  private constructor(monitor: SyncMonitor) {
    this.#monitor = monitor;
  }

  /** Runs an attempt. @returns what it has added; nothing remains of one that fails. */
  static async during(
    monitor: SyncMonitor,
    run: (figures: AttemptFigures) => Promise<void>,
  ): Promise<AttemptFigures> {
    const figures = new AttemptFigures(monitor);
    try {
      await run(figures);
      return figures;
    } catch (error) {
      figures.#takeBack();
      throw error;
    }
  }

  /** The bytes of all documents that were copied or reconciled. */
  get bytes(): number {
    let sum = 0;
    for (const bytes of this.#bytesOf.values()) sum += bytes;
    return sum;
  }

  addCopied(collection: UUID, documents: number, bytes: number): void {
    this.#copied += documents;
    this.#addBytes(collection, bytes);
    this.#monitor.addCopied(documents, bytes);
    this.#monitor.copyTally.addCopied(collection, bytes);
  }

  /** Adds documents that are compared with those that were on the destination before the copy: before any is changed. */
  addCompared(documents: number): void {
    this.#compared += documents;
    this.#monitor.addCompared(documents);
  }

  /** Adds the bytes of documents that are as on the source now. */
  addReconciled(collection: UUID, bytes: number): void {
    this.#addBytes(collection, bytes);
    this.#monitor.addReconciled(bytes);
    this.#monitor.copyTally.addCopied(collection, bytes);
  }

  /** Adds the figures of an attempt that was a part of this one, and has succeeded. */
  include(part: AttemptFigures): void {
    this.#copied += part.#copied;
    this.#compared += part.#compared;
    for (const [collection, bytes] of part.#bytesOf) this.#addBytes(collection, bytes);
  }

  #addBytes(collection: UUID, bytes: number): void {
    this.#bytesOf.set(collection, (this.#bytesOf.get(collection) ?? 0) + bytes);
  }

  #takeBack(): void {
    this.#monitor.takeBack({
      copied: this.#copied,
      compared: this.#compared,
      bytes: this.bytes,
    });
    for (const [collection, bytes] of this.#bytesOf)
      this.#monitor.copyTally.addCopied(collection, -bytes);
  }
}
