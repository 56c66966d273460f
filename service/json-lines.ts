import { Readable } from 'node:stream';
import { toSyncError } from './errors.ts';

/** About how many characters are sent at a time, and wait for a slow client. */
const chunkLength = 16 * 1024;

/** An answer of one JSON object in each line (NDJSON), which are read while they are sent. */
export class JsonLines {
  readonly objects: AsyncIterable<object>;

  constructor(objects: AsyncIterable<object>) {
    this.objects = objects;
  }
}

/**
 * The body of such an answer. Objects are read as fast as the client reads. An error before the first of them is thrown. A later one
 * is the last line, `{"error": "<name>: <description>"}`, and breaks the connection: nobody takes the lines for all that there are.
 */
export async function linesBody({ objects }: JsonLines): Promise<Readable> {
  const iterator = objects[Symbol.asyncIterator]();
  const first = await iterator.next();
  const options = { objectMode: false, highWaterMark: chunkLength };
  return Readable.from(chunks(first, iterator), options);
}

async function* chunks(
  first: IteratorResult<object, unknown>,
  iterator: AsyncIterator<object>,
): AsyncGenerator<string, void> {
  let text = '';
  try {
    for (let next = first; next.done !== true; next = await iterator.next()) {
      text += `${JSON.stringify(next.value)}\n`;
      if (text.length < chunkLength) continue;
      yield text;
      text = '';
    }
    if (text !== '') yield text;
  } catch (error) {
    const { name, message } = toSyncError(error);
    yield `${text}${JSON.stringify({ error: `${name}: ${message}` })}\n`;
    throw error;
  } finally {
    await iterator.return?.();
  }
}
