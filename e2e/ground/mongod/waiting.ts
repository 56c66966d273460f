import { MongoClient, MongoServerError, type Document } from 'mongodb';
import { sleep } from '../../../service/sleep.ts';
import { defaultDeadlineMs } from '../default-deadline.ts';

export const retryDelayMs = 50;

/** For methods that wait. */
export interface WaitOptions {
  readonly signal?: AbortSignal;
  /** Default: {@link defaultDeadlineMs}. */
  readonly deadlineMs?: number;
}

/** Waits until a server is as asked. It answers each hello as soon as something has changed. */
export async function awaitHello(
  client: MongoClient,
  isReached: (hello: Document) => boolean,
  signal: AbortSignal,
): Promise<void> {
  let command: Document = { hello: 1 };
  for (;;) {
    const hello = await untilAnswered(signal, async () => {
      return await client.db('admin').command(command, { promoteLongs: false, signal });
    });
    if (isReached(hello)) return;
    const topologyVersion: unknown = hello['topologyVersion'];
    command = { hello: 1, topologyVersion, maxAwaitTimeMS: 5000 };
  }
}

/** Asks again while the network or the state of the set forbids an answer. */
export async function untilAnswered<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof MongoServerError && !isPassing(error)) throw error;
      await sleep(retryDelayMs, signal);
    }
  }
}

/**
 * Shutting down, changing its role, or just started, when it knows no users for a moment; not primary, or a primary whose
 * secondaries are not as far as it is.
 */
function isPassing({ code }: MongoServerError): boolean {
  return [18, 91, 189, 262, 10107, 11600, 11602].includes(Number(code));
}

/** Runs something with a client that has one connection. */
export async function usingClient<T>(
  uri: string,
  use: (client: MongoClient) => Promise<T>,
): Promise<T> {
  const client = new MongoClient(uri, { maxPoolSize: 1 });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

/** Aborted by the caller's signal or at the deadline. */
export function waitSignal({ signal, deadlineMs = defaultDeadlineMs }: WaitOptions): AbortSignal {
  const deadline = AbortSignal.timeout(deadlineMs);
  return signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
}
