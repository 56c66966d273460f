import assert from 'node:assert/strict';
import { BSON, Binary, Long, ObjectId, Timestamp, type Document } from 'mongodb';
import { checkForm, sentCommand, serverKind, type SentCommand } from './answer-form.ts';
import { documentSequence } from './document-sequence.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { bsonType } from './raw-bson.ts';
import { RawValue } from './raw-value.ts';

const time = new Timestamp({ t: 1_700_000_000, i: 1 });
const cursor = { id: Long.fromNumber(7), ns: 'shop.items', firstBatch: [{ _id: 1 }] };

const honest = {
  hello: {
    ...{
      ok: 1,
      isWritablePrimary: true,
      setName: 'rs0',
      hosts: ['a:1'],
      me: 'a:1',
      primary: 'a:1',
    },
    ...{
      maxBsonObjectSize: 16_777_216,
      maxMessageSizeBytes: 48_000_000,
      maxWriteBatchSize: 100_000,
    },
    ...{ minWireVersion: 0, maxWireVersion: 17, logicalSessionTimeoutMinutes: 30 },
    topologyVersion: { processId: new ObjectId(), counter: Long.fromNumber(6) },
    operationTime: time,
    $clusterTime: { clusterTime: time, signature: { hash: new Binary(), keyId: Long.ZERO } },
  },
  find: { ok: 1, cursor },
  getMore: { ok: 1, cursor: { id: Long.ZERO, ns: 'shop.items', nextBatch: [] } },
  insert: { ok: 1, n: 2, writeErrors: [{ index: 1, code: 11_000, errmsg: 'there' }] },
  update: { ok: 1, n: 3, nModified: 2, upserted: [{ index: 0, _id: 1 }] },
  delete: { ok: 1, n: 3 },
  findAndModify: { ok: 1, value: null, lastErrorObject: { n: 1 } },
  saslStart: { ok: 1, conversationId: 1, done: false, payload: new Binary() },
  ping: { ok: 1 },
} satisfies Record<string, Document>;

type Name = keyof typeof honest;

const statements = Array.from({ length: 3 }, (_, _id) => ({ _id }));

function sent(name: Name, more: object = {}): SentCommand {
  const lists = { insert: 'documents', update: 'updates', delete: 'deletes' } as Partial<
    Record<Name, string>
  >;
  const list = lists[name];
  return sentCommand({
    [name]: 'items',
    ordered: false,
    ...(list && { [list]: statements }),
    ...more,
  });
}

function check(name: Name, answer: Document, command = sent(name)): void {
  checkForm(command, BSON.serialize(answer));
}

/** An answer with another value in one place; undefined removes it. */
function altered(name: Name, path: string, value: unknown): Document {
  const copy = BSON.deserialize(BSON.serialize(honest[name]), {
    promoteValues: false,
    promoteBuffers: false,
  });
  const names = path.split('.');
  const last = names.pop() ?? '';
  const parent = names.reduce<Document>((fields, field) => fields[field] as Document, copy);
  if (value === undefined) Reflect.deleteProperty(parent, last);
  else parent[last] = value;
  return copy;
}

describe('checkForm', () => {
  for (const name of Object.keys(honest) as Name[])
    it(`lets through what a server answers to ${name}`, () => {
      check(name, honest[name]);
    });

  const wrong: readonly (readonly [Name, string, unknown, RegExp])[] = [
    ['ping', 'ok', undefined, /an answer to ping without ok/],
    ['ping', 'ok', 'yes', /whose ok has the BSON type 2/],
    ['hello', 'setName', undefined, /with hosts, and without setName/],
    ['hello', 'hosts', undefined, /with setName, and without hosts/],
    ['hello', 'hosts', [], /with setName, and without hosts/],
    ['hello', 'hosts', [7], /whose hosts\.0 has the BSON type 16/],
    ['hello', 'isWritablePrimary', undefined, /without isWritablePrimary/],
    ['hello', 'maxWireVersion', undefined, /without maxWireVersion/],
    ['hello', 'maxWireVersion', Number.NaN, /whose maxWireVersion is NaN/],
    ['hello', 'logicalSessionTimeoutMinutes', undefined, /without logicalSessionTimeoutMinutes/],
    ['hello', 'topologyVersion.processId', 'x', /whose topologyVersion\.processId has/],
    ['hello', '$clusterTime.clusterTime', undefined, /without \$clusterTime\.clusterTime/],
    ['hello', '$clusterTime.signature', undefined, /without \$clusterTime\.signature/],
    ['hello', 'operationTime', 7, /whose operationTime has the BSON type 16/],
    ['find', 'cursor', undefined, /an answer to find without cursor/],
    ['find', 'cursor.id', undefined, /without cursor\.id/],
    ['find', 'cursor.id', 'x', /whose cursor\.id has the BSON type 2/],
    ['find', 'cursor.ns', undefined, /without cursor\.ns/],
    ['find', 'cursor.firstBatch', undefined, /without cursor\.firstBatch/],
    ['find', 'cursor.firstBatch', {}, /whose cursor\.firstBatch has the BSON type 3/],
    ['getMore', 'cursor.nextBatch', undefined, /without cursor\.nextBatch/],
    ['insert', 'n', undefined, /an answer to insert without n/],
    ['insert', 'n', 3, /whose n is 3, and not 2, of 3 documents/],
    ['insert', 'n', -1, /whose n is -1/],
    ['insert', 'n', Number.NaN, /whose n is NaN/],
    ['insert', 'writeErrors', undefined, /whose n is 2, and not 3/],
    ['insert', 'writeErrors', {}, /whose writeErrors has the BSON type 3/],
    ['insert', 'writeErrors', ['x'], /whose writeErrors\.0 has the BSON type 2/],
    ['insert', 'writeErrors.0.index', undefined, /without writeErrors\.0\.index/],
    ['insert', 'writeErrors.0.index', 1e9, /have the index 1000000000, of 3 statements/],
    ['insert', 'writeErrors.0.index', -1, /whose writeErrors\.0\.index is -1/],
    ['insert', 'writeErrors.0.index', Number.NaN, /whose writeErrors\.0\.index is NaN/],
    ['insert', 'writeErrors.0.code', undefined, /without writeErrors\.0\.code/],
    ['update', 'nModified', undefined, /without nModified/],
    ['update', 'upserted.0.index', 3, /whose upserted have the index 3/],
    ['delete', 'n', 'many', /whose n has the BSON type 2/],
    ['findAndModify', 'value', undefined, /without value/],
    ['findAndModify', 'value', 'x', /whose value has the BSON type 2/],
    ['saslStart', 'payload', undefined, /without payload/],
  ];
  for (const [name, path, value, message] of wrong)
    it(`refuses ${name} ${value === undefined ? 'without' : `with ${JSON.stringify(value)} as`} ${path}`, () => {
      assert.throws(
        () => {
          check(name, altered(name, path, value));
        },
        (error) => error instanceof MalformedAnswer && message.test(error.message),
      );
    });

  it('asks an error for its code', () => {
    check('find', { ok: 0, code: 11_600, errmsg: 'down', codeName: 'InterruptedAtShutdown' });
    assert.throws(() => {
      check('find', { ok: 0, errmsg: 'down' });
    }, /an answer to find without code/);
  });

  it('asks an ordered write for one error, and an insert for what is before that', () => {
    const ordered = sent('insert', { ordered: true });
    check('insert', { ok: 1, n: 1, writeErrors: [{ index: 1, code: 11_000 }] }, ordered);
    assert.throws(() => {
      check('insert', { ok: 1, n: 2, writeErrors: [{ index: 1, code: 11_000 }] }, ordered);
    }, /whose n is 2, and not 1/);
    const twice = [0, 1].map((index) => ({ index, code: 11_000 }));
    assert.throws(() => {
      check(
        'update',
        { ok: 1, n: 0, nModified: 0, writeErrors: twice },
        sent('update', { ordered: true }),
      );
    }, /2 writeErrors, though it is ordered/);
    assert.throws(() => {
      const same = [1, 1].map((index) => ({ index, code: 11_000 }));
      check('insert', { ok: 1, n: 1, writeErrors: same });
    }, /have one index twice/);
  });
});

describe('sentCommand', () => {
  const documents = statements.map((document) => BSON.serialize(document));
  const bytes = BSON.serialize(Object.fromEntries(statements.entries()));
  const element = {
    type: bsonType.array,
    name: 'documents',
    bytes,
    offset: 0,
    length: bytes.length,
  };
  for (const [what, list] of [
    ['an array', statements],
    ['a document sequence', documentSequence('documents', documents)],
    ['an array of bytes', new RawValue('documents', element)],
  ] as const)
    it(`counts the statements in ${what}`, () => {
      assert.deepEqual(sentCommand({ insert: 'items', documents: list }), {
        name: 'insert',
        statements: 3,
        isOrdered: true,
      });
    });
});

describe('serverKind', () => {
  for (const [kind, answer] of [
    ['member', honest.hello],
    ['router', { ok: 1, msg: 'isdbgrid' }],
    ['standalone', { ok: 1, readOnly: false }],
    [undefined, { ok: 0, code: 1 }],
  ] as const)
    it(`is ${kind ?? 'not known'} by ${Object.keys(answer).slice(0, 3).join()}`, () => {
      assert.equal(serverKind(sent('hello'), BSON.serialize(answer)), kind);
    });

  it('is told by no other answer', () => {
    assert.equal(serverKind(sent('ping'), BSON.serialize({ ok: 1, setName: 'rs0' })), undefined);
  });
});
