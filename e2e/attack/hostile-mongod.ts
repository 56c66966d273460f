import { deflateRawSync, constants } from 'node:zlib';
import { Long, UUID, type Document } from 'mongodb';
import { bsonType } from '../../mongo/raw-bson.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import { encode } from '../ground/sharded/router/wire.ts';
import { helloNames, type FakeAnswer, type FakeRequest } from './fake-mongod.ts';

/** What a hostile server does to its clients. */
export interface Attack {
  readonly answer: FakeAnswer;
  /** The clients give a user and a password. Default true. */
  readonly isLogin?: boolean;
  /** A syncer that has no sync, and a verifier that was not told to check, notice nothing of it. Default false. */
  readonly isUnseenWhenIdle?: boolean;
  /** How much memory a program may have, in MiB. Default: 400; one that has done nothing yet has 130. */
  readonly maxMebibytes?: number;
  /** What it sends can be read by nobody, and counts as ServerAnswerMalformed. Default false. */
  readonly isMalformed?: boolean;
  /** More of the connection string. */
  readonly uriOptions?: string;
}

/** What the clients of a hostile server must not repeat. */
export const foreignPassword = 'of-some0ne-else';

const foreignUri = `mongodb://somebody:${foreignPassword}@elsewhere.example:27017/?tls=true`;

const isHello = ({ name }: FakeRequest): boolean => helloNames.includes(name);

/** Answers honestly whatever the attack leaves to it. */
function except(attack: (request: FakeRequest) => boolean): FakeAnswer {
  return (request) => {
    if (!attack(request)) request.answer(request.honest);
  };
}

/** The header of a message, and the flags and the kind of its section. */
function header(length: number, opCode = 2013): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeInt32LE(length, 0);
  bytes.writeInt32LE(opCode, 12);
  return bytes;
}

/** Answers all that comes after the first command with bytes in place of a document. */
function answering(bytes: Uint8Array): Attack {
  return {
    isLogin: false,
    isMalformed: true,
    answer: except((request) => {
      if (isHello(request)) return false;
      request.answerBytes(bytes);
      return true;
    }),
  };
}

/** Answers all that comes after the first command with a whole message. */
function sending(message: Uint8Array): Attack {
  return {
    isLogin: false,
    isMalformed: true,
    answer: except((request) => {
      if (isHello(request)) return false;
      request.socket.write(message);
      return true;
    }),
  };
}

/** Lists one document, whose bytes are spoilt before they are sent. */
function listing(row: Document, spoil: (bytes: Buffer, offset: number) => void): Attack {
  const cursor = { id: Long.ZERO, ns: 'a.$cmd.listCollections', firstBatch: [row] };
  const bytes = Buffer.from(encode({ ok: 1, cursor }));
  spoil(bytes, bytes.indexOf(encode(row)));
  return {
    isLogin: false,
    isMalformed: true,
    isUnseenWhenIdle: true,
    answer: except((request) => {
      if (request.name !== 'listCollections') return false;
      request.answerBytes(bytes);
      return true;
    }),
  };
}

/** A document whose only value has this type and these bytes. */
function documentOf(type: number, ...value: readonly number[]): Buffer {
  const bytes = Buffer.from([0, 0, 0, 0, type, 97, 0, ...value, 0]);
  bytes.writeInt32LE(bytes.length);
  return bytes;
}

/** A document as it is, in another one. */
function asValue(name: string, bytes: Buffer): RawValue {
  const { length } = bytes;
  return new RawValue(name, { type: bsonType.document, name, bytes, offset: 0, length });
}

/** What a server lists of a collection. */
const collectionRow = {
  ...{ _id: 1, name: 'items', type: 'collection', options: {} },
  info: { uuid: new UUID(), readOnly: false },
};

/** Sends as much as the client takes, until it has closed the connection. */
function flood({ socket }: FakeRequest): void {
  const piece = Buffer.alloc(1024 * 1024);
  const write = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', write);
  write();
}

/** Some MB that unpack to 4 GiB. */
function compressedBomb(): Buffer {
  const piece = deflateRawSync(Buffer.alloc(64 * 1024 * 1024), {
    finishFlush: constants.Z_FULL_FLUSH,
    level: 1,
  });
  const packed = [Buffer.from([0x78, 0x01]), ...Array.from({ length: 64 }, () => piece)];
  const inner = Buffer.alloc(9);
  inner.writeInt32LE(2013, 0);
  inner.writeInt32LE(1000, 4);
  inner[8] = 2;
  const body = Buffer.concat([inner, ...packed]);
  return Buffer.concat([header(16 + body.length, 2012), body]);
}

/** The BSON of a document that is in a document, and so on. */
function deepDocument(levels: number): Buffer {
  const bytes = Buffer.alloc(levels * 8 + 5);
  for (let level = 0; level < levels; level++) {
    const at = level * 7;
    bytes.writeInt32LE((levels - level) * 8 + 5, at);
    bytes[at + 4] = 3;
    bytes.write('a\0', at + 5, 'latin1');
  }
  bytes.writeInt32LE(5, levels * 7);
  return bytes;
}

function failure(errmsg: string): Document {
  return { ok: 0, code: 8000, codeName: 'AtlasError', errmsg };
}

function scramAnswer({ command, name }: FakeRequest, rest: string): Document {
  const given = (
    name === 'saslStart' ? command : (command['speculativeAuthenticate'] as Document)
  ) as { readonly payload: { readonly buffer: Uint8Array } };
  const [, nonce = ''] = /r=([^,]*)/.exec(Buffer.from(given.payload.buffer).toString()) ?? [];
  const payload = Buffer.from(`r=${nonce}more,s=${Buffer.alloc(28).toString('base64')},${rest}`);
  return { ok: 1, conversationId: 1, done: false, payload };
}

/** By what they do, after "a server that". */
export const attacks: Readonly<Record<string, Attack>> = {
  'takes connections and says nothing': { answer: () => undefined },
  'says nothing after the first answer': { answer: except((request) => !isHello(request)) },
  'announces 2 GB and sends them': {
    answer: (request) => {
      request.socket.write(header(0x7f_ff_ff_ff));
      flood(request);
    },
  },
  'announces 2 GB after the login': {
    isLogin: false,
    answer: except((request) => {
      if (isHello(request)) return false;
      request.socket.write(header(0x7f_ff_ff_ff));
      flood(request);
      return true;
    }),
  },
  'announces a message of 3 bytes': {
    isMalformed: true,
    answer: ({ socket }) => {
      socket.write(header(3));
    },
  },
  'announces a negative length': {
    isMalformed: true,
    answer: ({ socket }) => {
      socket.write(header(-1));
    },
  },
  'packs 4 GiB into some MB': {
    isMalformed: true,
    answer: ({ socket }) => {
      socket.write(compressedBomb());
    },
  },
  'answers the login with an error of 1 MB that holds a connection string': {
    answer: except((request) => {
      if (!request.name.startsWith('sasl')) return false;
      request.answer(failure(`${foreignUri} `.repeat(15_000)));
      return true;
    }),
  },
  'answers everything with an error of 1 MB that holds a connection string': {
    isLogin: false,
    answer: except((request) => {
      if (isHello(request)) return false;
      request.answer(failure(`${foreignUri} ${'x'.repeat(1024 * 1024)}`));
      return true;
    }),
  },
  'offers other mechanisms than the one that the connection string stands for': {
    answer: except((request) => {
      const saslSupportedMechs = ['MONGODB-OIDC', 'PLAIN', 'GSSAPI', 'MONGODB-AWS'];
      if (isHello(request)) {
        const { speculativeAuthenticate: _none, ...honest } = request.honest;
        request.answer({ ...honest, saslSupportedMechs });
      } else if (request.name === 'saslStart') {
        const payload = Buffer.from('{"issuer":"https://issuer.example","clientId":"x"}');
        request.answer({ ok: 1, conversationId: 1, done: false, payload });
      } else return false;
      return true;
    }),
  },
  'speaks no TLS to those who send their password by PLAIN': {
    answer: except(() => false),
    uriOptions: 'authMechanism=PLAIN&authSource=$external&tls=true',
  },
  'wants a login that takes hours to compute': {
    answer: except((request) => {
      if (request.name !== 'saslStart') return false;
      request.answer(scramAnswer(request, `i=${2 ** 31 - 1}`));
      return true;
    }),
  },
  'wants a login without any work': {
    answer: except((request) => {
      if (request.name !== 'saslStart') return false;
      request.answer(scramAnswer(request, 'i=1'));
      return true;
    }),
  },
  'answers with a document that is cut off': answering(
    encode({ ok: 1, text: 'abc' }).subarray(0, -2),
  ),
  'answers with a document that is longer than its message': answering(
    Buffer.from([0xff, 0xff, 0xff, 0x7f, 2, 97, 0, 255, 255, 255, 127]),
  ),
  'answers with a value that is longer than its document': answering(
    documentOf(2, 255, 255, 255, 127, 0),
  ),
  'answers with a value of a negative length': answering(documentOf(3, 253, 255, 255, 255, 0)),
  'answers with a value of a type that there is none of': answering(documentOf(0x55, 1)),
  'answers with a text without an end': answering(documentOf(0x0b, 97, 98, 99)),
  'answers with a message of another kind': sending(header(16, 2004)),
  'answers with a message that holds nothing': sending(header(16)),
  'packs what cannot be unpacked': sending(
    Buffer.concat([
      header(33, 2012),
      Buffer.from([221, 7, 0, 0, 8, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8]),
    ]),
  ),
  'says hello with a document that is none': {
    isMalformed: true,
    answer: ({ answerBytes }) => {
      answerBytes(Buffer.from([9, 0, 0, 0, 0x77, 97, 0, 1, 0]));
    },
  },
  'answers with 300 levels': answering(deepDocument(300)),
  'answers with 100,000 levels': answering(deepDocument(100_000)),
  'lists a document that is cut off': listing(collectionRow, (bytes, offset) => {
    bytes.writeInt32LE(bytes.readInt32LE(offset) - 2, offset);
  }),
  'lists a document that ends before it begins, and so again and again': listing(
    collectionRow,
    (bytes, offset) => {
      bytes.writeInt32LE(-3, offset);
    },
  ),
  'lists a document with a value that there is none of': listing(collectionRow, (bytes, offset) => {
    bytes[offset + 4] = 0x55;
  }),
  'lists a document of 100,000 levels': listing(
    { ...collectionRow, options: asValue('options', deepDocument(100_000)) },
    () => undefined,
  ),
  'continues with another cursor than the one that was opened': {
    ...{ isLogin: false, isMalformed: true, isUnseenWhenIdle: true },
    answer: except((request) => {
      const rest = { ns: 'a.b', nextBatch: [] };
      if (request.name === 'getMore')
        request.answer({ ok: 1, cursor: { id: Long.fromNumber(8), ...rest } });
      else if (request.name === 'listCollections')
        request.answer({
          ok: 1,
          cursor: { id: Long.fromNumber(7), ns: 'a.b', firstBatch: [collectionRow] },
        });
      else return false;
      return true;
    }),
  },
  'has batches without end': {
    isLogin: false,
    isUnseenWhenIdle: true,
    // A list of 256 MiB is taken for one that a server may have.
    maxMebibytes: 1024,
    answer: except((request) => {
      const info = { uuid: new UUID(), readOnly: false };
      const row = { _id: 1, name: 'a'.repeat(1_000), type: 'collection', options: {}, info };
      const rows = Array.from({ length: 1_000 }, () => row);
      const id = Long.fromNumber(7);
      if (request.name === 'getMore')
        request.answer({ ok: 1, cursor: { id, ns: 'a.b', nextBatch: rows } });
      else if (['aggregate', 'listCollections'].includes(request.name))
        request.answer({ ok: 1, cursor: { id, ns: 'a.b', firstBatch: rows } });
      else return false;
      return true;
    }),
  },
};
