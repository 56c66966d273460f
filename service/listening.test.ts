import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { connect } from 'node:net';
import { allAddresses, closeServer, listen, nodeHost } from './listening.ts';
import { orAborted } from './or-aborted.ts';

const nothing = async (): Promise<void> => {
  await Promise.resolve();
};

describe('a server that listens', () => {
  const servers: Server[] = [];
  const started = (answer: RequestListener = (_, response) => response.end('here')): Server => {
    const server = createServer(answer);
    servers.push(server);
    return server;
  };
  afterEach(async () => {
    for (const server of servers.splice(0))
      if (server.listening) await closeServer(server, nothing);
  });

  it('at :: serves all addresses, those of IPv4 as well', async () => {
    // With an address Node fails where a machine has no IPv6 (ipv6.disable=1).
    assert.deepEqual([nodeHost(allAddresses), nodeHost('::1')], [undefined, '::1']);
    const port = await listen(started(), { host: allAddresses, port: 0 });
    for (const host of ['127.0.0.1', '[::1]'])
      assert.equal(await (await fetch(`http://${host}:${port}/`)).text(), 'here', host);
  });

  for (const [host, written] of [
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '[::1]'],
  ] as const)
    it(`says where another one listens already: ${host}`, async () => {
      const port = await listen(started(), { host, port: 0 });
      const error = await listen(started(), { host, port }).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof Error);
      assert.ok(error.message.startsWith(`cannot listen on ${written}:${port}: `), error.message);
    });

  it('ends a connection with half a request when it is closed, but not before the work behind it', async () => {
    const server = started((request) => request.resume());
    const port = await listen(server, { host: '127.0.0.1', port: 0 });
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    try {
      socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf');
      const [request] = (await once(server, 'request')) as [IncomingMessage];
      let wasOpen = false;
      const closing = closeServer(server, async () => {
        await Promise.resolve();
        wasOpen = !request.socket.destroyed;
      });
      await orAborted(closing, AbortSignal.timeout(10_000));
      assert.ok(wasOpen);
    } finally {
      socket.destroy();
    }
  });
});
