import { setInterval } from 'node:timers/promises';
import type { Collection } from 'mongodb';

/** Writes that continue until they are stopped. */
export interface SteadyWrites {
  readonly writtenBytes: number;
  /** Rejects when a write has failed. */
  stop(): Promise<void>;
}

/** Inserts ten documents of a size each second. */
export function writeSteadily(collection: Collection, bytes: number): SteadyWrites {
  const stopped = new AbortController();
  const { signal } = stopped;
  let writtenBytes = 0;
  const writing = (async () => {
    try {
      for await (const text of setInterval(100, 'x'.repeat(bytes), { signal })) {
        await collection.insertOne({ text });
        writtenBytes += bytes;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  })();
  writing.catch(() => undefined);
  return {
    get writtenBytes() {
      return writtenBytes;
    },
    async stop() {
      stopped.abort();
      await writing;
    },
  };
}
