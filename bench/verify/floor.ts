import { createClusterClient } from '../../mongo/cluster-client.ts';
import { RawCursor, type RawBatch } from '../../mongo/raw-cursor.ts';
import { asBuffer } from '../../mongo/raw-bson.ts';

// A plain comparison of one collection: a cursor on each side, in `_id` order; documents are compared as bytes. Any difference is
// an error. Prints how long the comparison took, without the start of the process.
const { FLOOR_SOURCE, FLOOR_DESTINATION, FLOOR_NAMESPACES } = process.env;
const { signal } = new AbortController();
const client = (uri = '', option: string) => createClusterClient({ uri, option, appName: 'floor' });
await using source = client(FLOOR_SOURCE, 'FLOOR_SOURCE');
await using destination = client(FLOOR_DESTINATION, 'FLOOR_DESTINATION');

await Promise.all([source.raw.connect(), destination.raw.connect()]);
const startedAt = performance.now();
let documents = 0;
for (const namespace of (FLOOR_NAMESPACES ?? '').split(',')) {
  const [db = '', coll = ''] = namespace.split('.');
  const find = { find: coll, hint: { _id: 1 }, batchSize: 5000 };
  const options = { signal, batchSize: 5000 };
  await using left = await RawCursor.open(source.raw, db, find, options);
  await using right = await RawCursor.open(destination.raw, db, find, options);
  for (;;) {
    const [one, other]: (RawBatch | undefined)[] = await Promise.all([left.next(), right.next()]);
    if (!one && !other) break;
    if (!one || one.documents.length !== other?.documents.length) {
      throw new Error(`${namespace}: another number of documents`);
    }
    for (const [index, document] of one.documents.entries()) {
      const copy = other.documents[index];
      if (!copy || !asBuffer(document).equals(copy)) throw new Error(`${namespace}: different`);
    }
    documents += one.documents.length;
  }
}
const seconds = (performance.now() - startedAt) / 1000;
process.stdout.write(`${JSON.stringify({ documents, seconds })}\n`);
