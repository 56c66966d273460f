import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { maxBodyBytes } from '../../service/json-body.ts';
import { plainServers } from './plain-servers.ts';

const pieceBytes = 64 * 1024;

describe('a client that reads nothing before it has sent the whole body of its request', () => {
  for (const [what, { path, start }] of Object.entries(plainServers)) {
    for (const [method, target, sentBytes, status] of [
      ['GET', path, 900000, 200],
      ['POST', path, 900000, 405],
      ['GET', '/nowhere', 900000, 404],
      ['GET', '/nowhere', maxBodyBytes + 1, 404],
      // As long as the server reads what nobody asked for.
      ['GET', '/nowhere', 2 * maxBodyBytes, 404],
    ] as const) {
      it(`gets its answer from ${what}: ${status} to ${method} ${target} with ${sentBytes} bytes`, async () => {
        await using server = await start();
        const { port } = server;
        const socket = connect({ port, host: '127.0.0.1', noDelay: true });
        const failed = once(socket, 'error').then(([error]) => Promise.reject(error as Error));
        failed.catch(() => undefined);
        const send = async (bytes: Buffer): Promise<void> => {
          await new Promise<void>((resolve) => {
            socket.write(bytes, () => {
              resolve();
            });
          });
          // The server has turned to what has come.
          await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
        };
        await once(socket, 'connect');
        const head = `${method} ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: ${sentBytes}\r\n\r\n`;
        await send(Buffer.from(head));
        for (let left = sentBytes; left > 0; left -= pieceBytes)
          await send(Buffer.alloc(Math.min(left, pieceBytes), '['));
        const answer = await Promise.race([text(socket), failed]);
        assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `));
      });
    }
  }
});
