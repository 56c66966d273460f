/** Runs one task at a time, in the order of the calls. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs a task when all before it have ended, and returns its result. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => undefined);
    return await result;
  }
}
