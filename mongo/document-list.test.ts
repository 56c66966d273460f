import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON } from 'mongodb';
import { DocumentList } from './document-list.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { RawWriter } from './raw-bson.ts';

function arrayOf(documents: readonly Uint8Array[]): Buffer {
  const writer = new RawWriter();
  for (const [index, each] of documents.entries()) writer.document(String(index), each);
  return Buffer.from(writer.finish());
}

function inBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

describe('DocumentList', () => {
  it('says of an array what cutting it into documents says', () => {
    fc.assert(
      fc.property(fc.array(fc.dictionary(fc.string(), fc.nat()), { maxLength: 120 }), (values) => {
        const documents = values.map((value) => BSON.serialize(value));
        const sent = DocumentList.ofArray(arrayOf(documents));
        const given = DocumentList.of(documents);
        assert.deepEqual(sent.documents.map(inBase64), documents.map(inBase64));
        for (const list of [sent, given]) {
          assert.equal(list.count, documents.length);
          assert.equal(
            list.bytes,
            documents.reduce((sum, { length }) => sum + length, 0),
          );
          assert.equal(list.first && inBase64(list.first), documents.map(inBase64)[0]);
          assert.equal(list.last && inBase64(list.last), documents.map(inBase64).at(-1));
        }
      }),
    );
  });

  it('is the same as another where each byte is', () => {
    const bytes = arrayOf([BSON.serialize({ _id: 1 }), BSON.serialize({ _id: 2, v: 'x' })]);
    const list = DocumentList.ofArray(bytes);
    assert.equal(list.cameAs(DocumentList.ofArray(Buffer.from(bytes))), true);
    const other = Buffer.from(bytes);
    other.writeUInt8('y'.charCodeAt(0), other.lastIndexOf('x'));
    assert.equal(list.cameAs(DocumentList.ofArray(other)), false);
    assert.equal(list.cameAs(DocumentList.of(list.documents)), false);
  });

  it('refuses what is no array of documents', () => {
    const numbers = BSON.serialize({ 0: 1, 1: 2 });
    assert.throws(() => DocumentList.ofArray(numbers).count, /other than documents/);
    const bytes = arrayOf([BSON.serialize({ _id: 1 })]);
    bytes.writeInt32LE(bytes.readInt32LE(7) + 1, 7);
    assert.throws(() => DocumentList.ofArray(bytes).count, /does not end/);
  });

  it('ends where a document says that it ends before it begins, or a name has no end', () => {
    for (const length of [-3, 0, 4]) {
      const bytes = arrayOf([BSON.serialize({ _id: 1 })]);
      bytes.writeInt32LE(length, 7);
      assert.throws(() => DocumentList.ofArray(bytes).documents, MalformedAnswer);
      assert.throws(() => {
        DocumentList.ofArray(bytes).requireWhole();
      }, MalformedAnswer);
    }
    const nameless = Buffer.from([9, 0, 0, 0, 3, 97, 97, 97, 97]);
    assert.throws(() => DocumentList.ofArray(nameless).count, MalformedAnswer);
  });
});
