import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { connect, createServer } from 'node:tls';
import { readMessages } from '../../../mongo/message-reader.ts';
import { randomMessage } from '../../../mongo/testing/random-message.ts';
import { issueCertificate } from '../../ground/certificates.ts';

describe('messages that come by TLS', () => {
  it('are read whole', async () => {
    const certificate = await issueCertificate('localhost');
    const { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca } = certificate;
    const server = createServer({ cert, key }).listen(0, 'localhost');
    await once(server, 'listening');
    const accepted = once(server, 'secureConnection') as Promise<[Socket]>;
    const { port } = server.address() as AddressInfo;
    const socket = connect({ port, host: 'localhost', ca });
    await once(socket, 'secureConnect');
    const [peer] = await accepted;
    try {
      const messages = [40, 3_000_000, 16, 16_400].map(randomMessage);
      const taken: Buffer[] = [];
      const isOurs = readMessages(socket, socket.pipe(new PassThrough()), {
        take: (message) => taken.push(message),
        onBytes: () => undefined,
        fail: assert.ifError,
      });
      assert.ok(isOurs);
      for (const message of messages) peer.write(message);
      peer.end();
      await once(socket, 'close');
      assert.ok(Buffer.concat(taken).equals(Buffer.concat(messages)));
      assert.deepEqual(
        taken.map(({ length }) => length),
        messages.map(({ length }) => length),
      );
    } finally {
      socket.destroy();
      server.close();
    }
  });
});
