import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { startHttpServer, type HttpServer } from './http-server.ts';
import { createLogger } from './logger.ts';

/** More than the buffers of two sockets hold. */
const answer = { text: 'x'.repeat(4 * 1024 * 1024) };

describe('requests of one connection', () => {
  const taken: string[] = [];
  let server: HttpServer;
  const sockets: Socket[] = [];

  before(async () => {
    server = await startHttpServer({
      host: '127.0.0.1',
      port: 0,
      logger: createLogger('test', 'fatal'),
      metrics: new Registry(),
      isReady: () => true,
      routes: ['/small', '/large'].map((path) => ({
        method: 'GET',
        path,
        handle: async (_body, query) => {
          taken.push(query.get('n') ?? '');
          await setImmediate();
          return path === '/large' ? answer : { n: query.get('n') };
        },
        errorBody: () => ({}),
      })),
    });
  });

  beforeEach(() => {
    taken.length = 0;
  });

  after(async () => {
    for (const socket of sockets) socket.destroy();
    await server[Symbol.asyncDispose]();
  });

  const open = async (): Promise<Socket> => {
    const socket = connect({ port: server.port, host: '127.0.0.1' });
    sockets.push(socket);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  };
  const requests = (path: string, count: number): string =>
    Array.from(
      { length: count },
      (_, n) =>
        `GET ${path}?n=${n} HTTP/1.1\r\nHost: 127.0.0.1\r\n${n === count - 1 ? 'Connection: close\r\n' : ''}\r\n`,
    ).join('');

  it('are answered one after the other, in order, even if they arrive together', async () => {
    const socket = await open();
    let text = '';
    socket.setEncoding('utf8').on('data', (part: string) => (text += part));
    socket.write(requests('/small', 17));
    await once(socket, 'close');
    const numbers = Array.from({ length: 17 }, (_, n) => String(n));
    assert.deepEqual(
      Array.from(text.matchAll(/\{"n":"(\d+)"\}/g), ([, n]) => n),
      numbers,
    );
  });

  it('are not processed until the previous answer has been read', async () => {
    const socket = await open();
    socket.pause();
    socket.write(requests('/large', 10));
    const other = await open();
    // Later requests on another connection are answered.
    for (let n = 0; n < 20; n++) {
      other.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
      await once(other, 'data');
    }
    assert.deepEqual(taken, ['0']);
    socket.resume();
    await once(socket, 'close');
    assert.equal(taken.length, 10);
  });

  it('end the connection if more than 16 wait', async () => {
    const socket = await open();
    const closed = once(socket, 'close');
    socket.write(requests('/large', 1_000));
    await closed;
    assert.deepEqual(taken, ['0']);
  });
});
