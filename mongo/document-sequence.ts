// The driver's own class for an OP_MSG document sequence; it is internal, so the driver's version is pinned and
// document-sequence.test.ts guards the shape.
import { DocumentSequence } from 'mongodb/lib/cmap/commands.js';
import type { RawDocument } from './raw-bson.ts';

/**
 * Raw documents as an OP_MSG document sequence: the value of `documents`, `updates` or `deletes` in a command,
 * sent as it is, without being decoded or encoded.
 */
export function documentSequence(
  field: 'documents' | 'updates' | 'deletes',
  documents: Iterable<RawDocument>,
): object {
  const sequence = new DocumentSequence(field);
  for (const document of documents) sequence.push({}, document);
  return sequence;
}
