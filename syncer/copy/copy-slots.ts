import type { ConcurrencyLimit } from '../../service/concurrency-limit.ts';

/** What all batches hold together at most; a single larger one is let through. */
const maxHeldBytes = 64 * 1024 * 1024;

/** What the throughput counts for a command, in addition to its bytes: a small insert takes about as long as one of this size. */
const commandBytes = 16 * 1024;

/** The right to have one batch under way, from the request to the source to the answer of the destination. */
export class CopySlot {
  readonly #release: (bytes: number, copiedBytes: number | undefined) => void;
  readonly #resize: (byBytes: number) => void;
  #bytes: number;
  #isGivenBack = false;

  constructor(
    bytes: number,
    resize: (byBytes: number) => void,
    release: (bytes: number, copiedBytes: number | undefined) => void,
  ) {
    this.#bytes = bytes;
    this.#resize = resize;
    this.#release = release;
  }

  /** Tells how large the batch is. */
  holds(bytes: number): void {
    this.#resize(bytes - this.#bytes);
    this.#bytes = bytes;
  }

  /** Gives the slot back, once. @param copiedBytes - what was inserted; undefined if nothing was, or it failed. */
  giveBack(copiedBytes?: number): void {
    if (this.#isGivenBack) return;
    this.#isGivenBack = true;
    this.#release(this.#bytes, copiedBytes);
  }
}

/**
 * The batches of a copy that are under way, over all readers: as many as the limit says, and as fit in the memory. Who waits gets
 * a slot in turn. Every slot is given back however the work on its batch ends, so nobody waits longer than commands do and limits make them.
 */
export class CopySlots {
  readonly #limit: ConcurrencyLimit;
  readonly #most: () => number;
  readonly #waiting: { readonly bytes: number; readonly take: (slot: CopySlot) => void }[] = [];
  #taken = 0;
  #bytes = 0;

  /** @param most - how many may be under way at most, whatever the limit finds; a change counts from the next slot on. */
  constructor(limit: ConcurrencyLimit, most: () => number = () => Infinity) {
    this.#limit = limit;
    this.#most = most;
  }

  /** Waits for a slot. @param bytes - how large the batch is expected to be. */
  async take(bytes: number): Promise<CopySlot> {
    const { promise, resolve } = Promise.withResolvers<CopySlot>();
    this.#waiting.push({ bytes, take: resolve });
    this.#grant();
    return await promise;
  }

  #grant(): void {
    for (;;) {
      const [first] = this.#waiting;
      const hasMemory = !first || this.#taken === 0 || this.#bytes + first.bytes <= maxHeldBytes;
      if (this.#taken >= Math.min(this.#limit.current, this.#most())) return;
      if (!first || !hasMemory) {
        this.#limit.hadRoom();
        return;
      }
      this.#waiting.shift();
      this.#taken++;
      this.#bytes += first.bytes;
      first.take(this.#slot(first.bytes));
    }
  }

  #slot(bytes: number): CopySlot {
    return new CopySlot(
      bytes,
      (byBytes) => {
        this.#bytes += byBytes;
        this.#grant();
      },
      (heldBytes, copiedBytes) => {
        this.#taken--;
        this.#bytes -= heldBytes;
        if (copiedBytes !== undefined) this.#limit.completed(copiedBytes + commandBytes);
        this.#grant();
      },
    );
  }
}
