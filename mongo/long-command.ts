import { UUID, type Document } from 'mongodb';
import { sleep } from '../service/sleep.ts';
import { commandOptions, type ClusterClient } from './cluster-client.ts';
import { ownOperations } from './own-operations.ts';
import { connectionError } from './server-errors.ts';

/** How often it is asked after a command that has not been answered. */
const askEveryMs = 5_000;

/**
 * Runs a command that takes as long as there are documents to read: building an index, changing a collection. It has no
 * deadline. Instead, the server is asked on another connection whether it works on it. Where it does not any more, nor
 * answers, the command or its answer has been lost with its connection, and is given up: it has been done whole, or not
 * at all.
 * @throws DOMException TimeoutError when it is given up; otherwise as `runCommand`.
 */
export async function runLongCommand(
  cluster: ClusterClient,
  db: string,
  command: Document,
  { signal, everyMs = askEveryMs }: { readonly signal: AbortSignal; readonly everyMs?: number },
): Promise<Document> {
  const comment = new UUID().toHexString();
  const lost = new AbortController();
  const answered = new AbortController();
  const asking = AbortSignal.any([signal, answered.signal]);
  const watch = async (): Promise<void> => {
    await untilNotWorkedOn(cluster, comment, everyMs, asking);
    lost.abort(new DOMException(`${db}: the answer to a command was lost`, 'TimeoutError'));
  };
  const watched = watch().catch((error: unknown) => {
    if (!asking.aborted) lost.abort(error);
  });
  try {
    return await cluster.decoded
      .db(db)
      .command(
        { ...command, comment },
        commandOptions({ signal: AbortSignal.any([signal, lost.signal]), deadlineMs: 'none' }),
      );
  } catch (error) {
    signal.throwIfAborted();
    throw connectionError(error) ?? error;
  } finally {
    answered.abort();
    await watched;
  }
}

/** Twice in a row: the first time the command, or its answer, may be on its way. */
async function untilNotWorkedOn(
  cluster: ClusterClient,
  comment: string,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  for (let isMissing = false; ;) {
    await sleep(everyMs, signal);
    const operations = await ownOperations(cluster, { 'command.comment': comment }, signal).catch(
      () => undefined,
    );
    if (operations?.length === 0 && isMissing) return;
    isMissing = operations?.length === 0;
  }
}
