import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { Int32, MongoDriverError, MongoNetworkError, MongoServerError } from 'mongodb';
import { SyncError } from '../service/errors.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { codeOf, connectionError, isCursorLost, isTransient } from './server-errors.ts';

const serverError = (code: unknown): MongoServerError =>
  new MongoServerError({ message: 'x', code });

/** An error as the driver throws it; its class is not exported. */
function waitQueueTimeout(): MongoDriverError {
  return Object.defineProperty(new MongoDriverError('x'), 'name', {
    value: 'MongoWaitQueueTimeoutError',
  });
}

/** An error as node:dns throws it; the driver passes it on unchanged. */
function lookupError(syscall: string): Error {
  return Object.assign(new Error(`${syscall} ENOTFOUND db`), { code: 'ENOTFOUND', syscall });
}

/** An error as node:fs throws it; the driver passes it on unchanged. */
function fileError(code: string, syscall: string): Error {
  return Object.assign(new Error(`${code}: ${syscall}`), { code, syscall });
}

/** A write after the other side has closed: reported by node:net itself, so no system call is named. */
async function writeAfterEnd(): Promise<unknown> {
  const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.resume();
  await once(socket, 'end');
  try {
    return await new Promise((resolve) => {
      socket.once('error', resolve);
      socket.write('x');
    });
  } finally {
    server.close();
  }
}

describe('codeOf', () => {
  it('reads codes as numbers, whether BSON types are kept or not', () => {
    assert.equal(codeOf(serverError(26)), 26);
    assert.equal(codeOf(serverError(new Int32(26))), 26);
    assert.equal(codeOf(new Error('x')), undefined);
  });
});

describe('isTransient', () => {
  const cases: [string, unknown, boolean][] = [
    ['not the primary any more', serverError(10107), true],
    ['the same with BSON types kept', serverError(new Int32(10107)), true],
    ['a lost connection', new MongoNetworkError('lost'), true],
    ['an answer that is none', new MalformedAnswer('a message of 3 bytes'), true],
    ['a file that is a folder', fileError('EISDIR', 'read'), false],
    ['a deadline in the queue for a connection', waitQueueTimeout(), true],
    ['a name of mongodb+srv that is not found', lookupError('querySrv'), true],
    ['another error of the driver', new MongoDriverError('x'), false],
    ['a cluster that cannot be reached', new SyncError('ClusterUnreachable', 'x'), true],
    ['a snapshot that is not there', serverError(246), true],
    ['a lock that a no-op did not get', serverError(107), true],
    ['an operation that somebody has ended', serverError(11601), true],
    ['a cursor that is gone', serverError(43), true],
    ['a duplicate key', serverError(11000), false],
    ['a missing right', serverError(13), false],
    ['a code that nobody knows', serverError(77_777), false],
    [
      'a login refused by a member that has just been started',
      new SyncError('AuthenticationFailed', 'x'),
      true,
    ],
    ['a fault of the program', new TypeError('x'), false],
  ];
  for (const [what, error, expected] of cases) {
    it(`${what}: ${expected}`, () => {
      assert.equal(isTransient(error), expected);
    });
  }
});

describe('a server that closes a connection while it is written to', () => {
  it('is a passing matter', async () => {
    const error = await writeAfterEnd();
    assert.match(String(error), /ended by the other party/);
    assert.equal(isTransient(error), true);
    assert.equal(connectionError(error)?.name, 'ClusterUnreachable');
  });
});

describe('isCursorLost', () => {
  it('is true for a cursor that the server has forgotten', () => {
    assert.equal(isCursorLost(serverError(43)), true);
    assert.equal(isCursorLost(serverError(26)), false);
  });
});

describe('connectionError', () => {
  it('names a wrong password and a lost connection, and nothing else', () => {
    assert.equal(connectionError(serverError(18))?.name, 'AuthenticationFailed');
    assert.equal(connectionError(new MongoNetworkError('lost'))?.name, 'ClusterUnreachable');
    assert.equal(connectionError(lookupError('querySrv'))?.name, 'ClusterUnreachable');
    assert.equal(connectionError(lookupError('queryTxt'))?.name, 'ClusterUnreachable');
    assert.equal(connectionError(serverError(11000)), undefined);
  });
});
