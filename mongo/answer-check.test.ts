import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON, type Document } from 'mongodb';
import { checkAnswer } from './answer-check.ts';
import { MalformedAnswer } from './malformed-answer.ts';

/** An answer as a server sends it: OP_MSG. */
function messageOf(document: Uint8Array): Buffer {
  const head = Buffer.alloc(21);
  head.writeInt32LE(head.length + document.length, 0);
  head.writeInt32LE(2013, 12);
  return Buffer.concat([head, document]);
}

/** An answer to the first message of a connection, of the old form: OP_REPLY. */
function replyOf(document: Uint8Array, count = 1): Buffer {
  const head = Buffer.alloc(36);
  head.writeInt32LE(head.length + document.length, 0);
  head.writeInt32LE(1, 12);
  head.writeInt32LE(count, 32);
  return Buffer.concat([head, document]);
}

function nested(levels: number): Document {
  let value: Document = {};
  for (let level = 1; level < levels; level++) value = { a: value };
  return value;
}

/** One value of each type, also within others. */
const everything = {
  ...{ ok: 1, int: new BSON.Int32(7), long: BSON.Long.MAX_VALUE, text: 'x\0y', empty: '' },
  ...{ at: new Date(0), id: new BSON.ObjectId(), none: null, yes: true, no: false },
  ...{ bytes: new BSON.Binary(Buffer.from('abc')), uuid: new BSON.UUID() },
  ...{ pattern: new BSON.BSONRegExp('^a', 'i'), symbol: new BSON.BSONSymbol('s') },
  ...{ code: new BSON.Code('f()'), scoped: new BSON.Code('f()', { a: [1, 'b'] }) },
  ...{ least: new BSON.MinKey(), most: new BSON.MaxKey(), time: new BSON.Timestamp(7n) },
  ...{ decimal: BSON.Decimal128.fromString('1.5'), list: [1, [], {}, { deep: { er: 'text' } }] },
};

function requireMalformed(message: Buffer, unread?: string): void {
  assert.throws(() => {
    checkAnswer(message, unread);
  }, MalformedAnswer);
}

describe('checkAnswer', () => {
  it('takes whatever can be written as BSON, of both forms', () => {
    for (const document of [{}, { ok: 1 }, everything, nested(256)])
      for (const form of [messageOf, replyOf]) checkAnswer(form(BSON.serialize(document)));
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const names = Object.keys(value).filter((name) => name.includes('\0'));
        fc.pre(names.length === 0);
        checkAnswer(messageOf(BSON.serialize(value)));
      }),
    );
  });

  it('lets nothing through that cannot be read, whichever bytes are others', () => {
    const whole = messageOf(BSON.serialize(everything));
    const change = fc.tuple(fc.nat(whole.length - 17), fc.nat(255));
    let refused = 0;
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const message = Buffer.from(whole);
        for (const [at, byte] of changes) message[16 + at] = byte;
        try {
          checkAnswer(message);
        } catch (error) {
          assert.ok(error instanceof MalformedAnswer, String(error));
          refused += 1;
          return;
        }
        try {
          BSON.deserialize(message.subarray(21), { bsonRegExp: true, validation: { utf8: false } });
        } catch (error) {
          // A UUID of another length, say: of the right form, and no value of a driver.
          assert.ok(BSON.BSONError.isBSONError(error), String(error));
        }
      }),
      { numRuns: 5_000 },
    );
    assert.ok(refused > 500, `${refused} refused`);
  });

  it('refuses a message that is cut off wherever', () => {
    for (const form of [messageOf, replyOf]) {
      const whole = form(BSON.serialize(everything));
      for (let length = 16; length < whole.length; length++)
        requireMalformed(whole.subarray(0, length));
    }
  });

  it('refuses more than one document, flags that it has to know, another kind, and more levels than any has', () => {
    const document = BSON.serialize({ ok: 1 });
    requireMalformed(replyOf(document, 2));
    requireMalformed(replyOf(document, -1));
    const withChecksum = messageOf(document);
    withChecksum[16] = 1;
    const ofOtherSection = messageOf(document);
    ofOtherSection[20] = 1;
    const ofOtherKind = messageOf(document);
    ofOtherKind.writeInt32LE(2004, 12);
    for (const message of [withChecksum, ofOtherSection, ofOtherKind]) requireMalformed(message);
    requireMalformed(messageOf(Buffer.concat([document, document])));
    requireMalformed(messageOf(BSON.serialize(nested(257))));
  });

  it('leaves one field to who reads it, and nothing around it', () => {
    const spoilt = Buffer.from(BSON.serialize({ cursor: { inner: { a: 1 } }, ok: 1 }));
    spoilt[spoilt.indexOf('inner') + 'inner'.length + 5] = 0x55;
    requireMalformed(messageOf(spoilt));
    checkAnswer(messageOf(spoilt), 'cursor');
    requireMalformed(messageOf(spoilt), 'inner');
  });
});
