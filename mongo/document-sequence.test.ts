import assert from 'node:assert/strict';
import { BSON } from 'mongodb';
import { DocumentSequence } from 'mongodb/lib/cmap/commands.js';
import { documentSequence } from './document-sequence.ts';

describe('documentSequence', () => {
  it('holds the documents byte for byte behind a header of kind 1, size and field name', () => {
    const documents = [BSON.serialize({ _id: 1 }), BSON.serialize({ _id: 'two' })];
    const sequence = documentSequence('documents', documents);
    assert.ok(sequence instanceof DocumentSequence);
    const bytes = Buffer.from((sequence as unknown as { toBin(): Uint8Array }).toBin());
    const body = Buffer.concat(documents);
    const header = Buffer.concat([Buffer.from([1]), Buffer.alloc(4), Buffer.from('documents\0')]);
    header.writeInt32LE(header.length - 1 + body.length, 1);
    assert.deepEqual(bytes, Buffer.concat([header, body]));
  });
});
