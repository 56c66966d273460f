import { MongoServerError, type Document } from 'mongodb';
import type { DestinationContext } from './destination-context.ts';

/** What writing documents to the destination needs. */
export type WriteContext = Pick<DestinationContext, 'destination' | 'signal'>;

/** Sends a write of documents to the destination, and gives its answer: it quotes ids and keys, which are not UTF-8 at times. */
export async function runDocumentWrite(
  { destination, signal }: WriteContext,
  db: string,
  command: Document,
): Promise<Document> {
  return await destination.decoded.db(db).command(command, { signal, enableUtf8Validation: false });
}

/** Throws what a write command reports in an answer that is `ok`, except for write errors that are expected. */
export function throwWriteErrors(
  answer: Document,
  isExpected: (writeError: Document) => boolean,
): void {
  const writeErrors = (answer['writeErrors'] ?? []) as Document[];
  const unexpected = writeErrors.find((writeError) => !isExpected(writeError));
  if (unexpected) throw new MongoServerError(unexpected);
  const concern = answer['writeConcernError'] as Document | undefined;
  if (concern) throw new MongoServerError(concern);
}
