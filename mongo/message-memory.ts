/** Answers that are smaller are not worth it. */
const smallBytes = 1024 * 1024;

/** Memory is as many of these as are enough, so that one answer's is enough for another one of about the same length. */
const stepBytes = 512 * 1024;

/** What is kept for later; V8 gets the rest. */
const keptBytes = 48 * 1024 * 1024;

/**
 * Memory for large answers, to be used again. Without it, a copy uses fresh memory for everything that it reads: the system
 * has to clear it, and V8 goes through all that the program has loaded each time when some tens of megabytes have come.
 */
export class MessageMemory {
  readonly #taken = new WeakSet<ArrayBufferLike>();
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;

  /** Memory of a length; what is in it is of no meaning. */
  take(length: number): Buffer {
    if (length < smallBytes) return Buffer.allocUnsafe(length);
    const index = this.#kept.findIndex((one) => one.length >= length && one.length < 2 * length);
    const [found] = index < 0 ? [] : this.#kept.splice(index, 1);
    if (found) this.#keptBytes -= found.length;
    const memory = found ?? Buffer.allocUnsafeSlow(Math.ceil(length / stepBytes) * stepBytes);
    this.#taken.add(memory.buffer);
    return memory.subarray(0, length);
  }

  /**
   * Gives back the memory that some bytes of an answer are in, the whole of it. Nothing of that answer may be looked at
   * afterwards. Other memory is left alone.
   */
  giveBack({ buffer }: Uint8Array): void {
    if (!this.#taken.delete(buffer) || this.#keptBytes + buffer.byteLength > keptBytes) return;
    this.#kept.push(Buffer.from(buffer));
    this.#keptBytes += buffer.byteLength;
  }
}
