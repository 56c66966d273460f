import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON, Binary, type Document } from 'mongodb';
import { checkAnswer, checkLogin } from './answer-check.ts';
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

/** One value of each type, also nested. */
const everything = {
  ...{ ok: 1, int: new BSON.Int32(7), long: BSON.Long.MAX_VALUE, text: 'x\0y', empty: '' },
  ...{ at: new Date(0), id: new BSON.ObjectId(), none: null, yes: true, no: false },
  ...{ bytes: new BSON.Binary(Buffer.from('abc')), uuid: new BSON.UUID() },
  ...{ pattern: new BSON.BSONRegExp('^a', 'i'), symbol: new BSON.BSONSymbol('s') },
  ...{ code: new BSON.Code('f()'), scoped: new BSON.Code('f()', { a: [1, 'b'] }) },
  ...{ least: new BSON.MinKey(), most: new BSON.MaxKey(), time: new BSON.Timestamp(7n) },
  ...{ decimal: BSON.Decimal128.fromString('1.5'), list: [1, [], {}, { deep: { er: 'text' } }] },
};

/** Refused by the driver although it is BSON: a value of the right form that has no meaning for it. */
const ofDriverAlone =
  /^BSONError: (?:The regular expression option \[|Binary type with subtype 0x02 |Negative binary type element size found for subtype 0x02$|UUID )/s;

/** A document whose only value has this type and these bytes. */
function documentOf(type: number, ...value: readonly number[]): Buffer {
  const bytes = Buffer.from([0, 0, 0, 0, type, 97, 0, ...value, 0]);
  bytes.writeInt32LE(bytes.length);
  return bytes;
}

/** The same, in a document of its own. */
function within(document: Buffer): Buffer {
  return documentOf(3, ...document);
}

/** A document with one byte changed. */
function spoilt(document: Buffer, at: number, byte: number): Buffer {
  const bytes = Buffer.from(document);
  bytes[at] = byte;
  return bytes;
}

const text = [2, 0, 0, 0, 98, 0];
const textWithoutEnd = [2, 0, 0, 0, 98, 99];
const emptyDocument = [5, 0, 0, 0, 0];
const objectId = Array.from({ length: 12 }, () => 7);

/** Malformed documents, by what is wrong with each. The rest of each is correct. */
const malformedDocuments: Readonly<Record<string, Buffer>> = {
  'a length that is too short': spoilt(documentOf(0x10, 1, 0, 0, 0), 0, 11),
  'a length that is too long': spoilt(documentOf(0x10, 1, 0, 0, 0), 0, 13),
  'no zero byte at its end': spoilt(documentOf(0x10, 1, 0, 0, 0), 11, 1),
  'a name without an end': Buffer.from([7, 0, 0, 0, 0x0a, 97, 0]),
  'a value that ends behind it': documentOf(0x10, 1, 0, 0),
  'a text that ends behind it': documentOf(2, 3, 0, 0, 0, 98, 0),
  'a text of a negative length': documentOf(2, 255, 255, 255, 255, 0),
  'a text of length 0, which has no end': documentOf(2, 0, 0, 0, 0),
  'binary data of a negative length': documentOf(5, 255, 255, 255, 255, 0, 1),
  'a document of a negative length': documentOf(3, 251, 255, 255, 255, 0),
  'a document of 4 bytes': documentOf(4, 4, 0, 0, 0),
  'a text without its end': documentOf(2, ...textWithoutEnd),
  'a symbol without its end': documentOf(0x0e, ...textWithoutEnd),
  'code without its end': documentOf(0x0d, ...textWithoutEnd),
  'a pattern without its end': documentOf(0x0b, 97, 0, 98),
  'a reference whose name has no end': documentOf(0x0c, ...textWithoutEnd, ...objectId),
  'scoped code without its end': documentOf(
    ...([0x0f, 15, 0, 0, 0] as const),
    ...textWithoutEnd,
    ...emptyDocument,
  ),
  'scoped code that is longer than it says': documentOf(
    ...([0x0f, 15, 0, 0, 0, 12, 0, 0, 0, 98, 0] as const),
    ...emptyDocument,
  ),
  'scoped code whose scope is none': documentOf(
    ...([0x0f, 15, 0, 0, 0] as const),
    ...text,
    ...[5, 0, 0, 0, 1],
  ),
  'a boolean that is neither': documentOf(8, 2),
  'a value of a type that there is none of': documentOf(0x55, 1),
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
          assert.match(String(error), ofDriverAlone);
        }
      }),
      { numRuns: 5_000 },
    );
    assert.ok(refused > 500, `${refused} refused`);
  });

  it('refuses a document that is none, for each thing that can be wrong with one', () => {
    for (const [what, document] of Object.entries(malformedDocuments))
      for (const form of [messageOf, replyOf])
        for (const each of [document, within(document)])
          assert.throws(
            () => {
              checkAnswer(form(each));
            },
            MalformedAnswer,
            what,
          );
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
    const message = Buffer.from(BSON.serialize({ cursor: { inner: { a: 1 } }, ok: 1 }));
    message[message.indexOf('inner') + 'inner'.length + 5] = 0x55;
    requireMalformed(messageOf(message));
    checkAnswer(messageOf(message), 'cursor');
    requireMalformed(messageOf(message), 'inner');
  });
});

const start = { saslStart: 1, mechanism: 'SCRAM-SHA-256' };

function answerOf(text: string): Readonly<Record<string, unknown>> {
  return { ok: 1, conversationId: 1, done: false, payload: new Binary(Buffer.from(text)) };
}

describe('checkLogin', () => {
  it('takes what servers answer', () => {
    for (const rounds of [4_096, 10_000, 15_000, 1_000_000])
      checkLogin(start, answerOf(`r=nonce,s=c2FsdA==,i=${rounds}`));
    checkLogin({ hello: 1 }, { ok: 1 });
    checkLogin({ ...start, mechanism: 'PLAIN' }, { ok: 1, done: true });
    checkLogin({ hello: 1, speculativeAuthenticate: start }, { ok: 1 });
    const byCertificate = { authenticate: 1, mechanism: 'MONGODB-X509' };
    const user = { dbname: '$external', user: 'CN=client' };
    checkLogin(
      { hello: 1, speculativeAuthenticate: byCertificate },
      { ok: 1, speculativeAuthenticate: user },
    );
  });

  for (const rounds of ['0', '1', '4095', '1000001', '2147483647', '9'.repeat(1000), '-1', '1e9'])
    it(`refuses to work for ${rounds.slice(0, 20)} rounds`, () => {
      const answer = answerOf(`r=nonce,s=c2FsdA==,i=${rounds}`);
      const asked = { hello: 1, speculativeAuthenticate: start };
      for (const [command, said] of [
        [start, answer],
        [asked, { ok: 1, speculativeAuthenticate: answer }],
        // The driver computes all the same.
        [start, { ...answer, done: true }],
        [asked, { ok: 1, speculativeAuthenticate: { ...answer, done: true } }],
      ] as const)
        assert.throws(
          () => {
            checkLogin(command, said);
          },
          { name: 'AuthenticationFailed' },
        );
    });

  it('takes a login without a conversation for no answer', () => {
    const { conversationId, ...answer } = answerOf('r=nonce,s=c2FsdA==,i=15000');
    assert.equal(conversationId, 1);
    const asked = { hello: 1, speculativeAuthenticate: start };
    assert.throws(
      () => {
        checkLogin(asked, { ok: 1, speculativeAuthenticate: answer });
      },
      { name: 'AuthenticationFailed', message: /does not answer the login/ },
    );
  });

  for (const payload of [undefined, 'r=nonce', new Binary(Buffer.from('{"issuer": 1}')), 5])
    it(`takes ${String(payload)} for no answer`, () => {
      const answer = { ok: 1, done: false, payload };
      assert.throws(
        () => {
          checkLogin(start, answer);
        },
        { name: 'AuthenticationFailed', message: /does not answer the login/ },
      );
    });
});
