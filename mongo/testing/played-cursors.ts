import { BSON, Long, type Document } from 'mongodb';
import type { ClusterClient } from '../cluster-client.ts';
import { playedDeployment, type SentCommand } from './played-deployment.ts';

/** What a cursor returns in one round trip. */
export interface PlayedBatch {
  readonly documents: readonly Document[];
  /** Whether there is more of it. Default: no. */
  readonly isOpen?: boolean;
  /** Of a change stream. */
  readonly token?: Document;
}

/**
 * A cluster whose cursors are a function, and the commands that were sent to it.
 * @param batchOf - returns the batch with which a command that opens a cursor, or a getMore, is answered.
 */
export function playedCursors(batchOf: (command: Document) => PlayedBatch | Promise<PlayedBatch>): {
  readonly cluster: ClusterClient;
  readonly sent: readonly SentCommand[];
} {
  const { deployment, sent } = playedDeployment(async (command) => {
    if ('killCursors' in command) return { ok: 1 };
    const { documents, isOpen = false, token } = await batchOf(command);
    const cursor = {
      ...{ id: isOpen ? Long.ONE : Long.ZERO, ns: 'shop.items' },
      ...('getMore' in command ? { nextBatch: documents } : { firstBatch: documents }),
      ...(token && { postBatchResumeToken: token }),
    };
    // Embedded documents come as bytes.
    return { ok: 1, cursor: BSON.serialize(cursor) };
  });
  return { cluster: { raw: deployment.decoded } as unknown as ClusterClient, sent };
}
