import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { sendRequest } from './http-request.ts';
import { startHttpServer } from './testing/http-server.ts';

describe('a request that may no longer be sent', () => {
  it('is not sent on a connection that was kept', async () => {
    let requests = 0;
    await using http = await startHttpServer((_, response) => {
      requests += 1;
      response.end('done');
    });
    const connections: Socket[] = [];
    http.server.on('connection', (socket: Socket) => void connections.push(socket));
    const { signal } = new AbortController();
    const post = {
      method: 'POST',
      url: http.url,
      headers: {},
      body: '{}',
      maxAnswerBytes: 100,
    } as const;
    assert.equal((await sendRequest(post, signal)).text, 'done');
    const [connection] = connections;
    assert.ok(connection);
    const closed = once(connection, 'close');
    const refusal = new Error('no longer');
    const assertMaySend = (): void => {
      throw refusal;
    };
    await assert.rejects(sendRequest({ ...post, assertMaySend }, signal), refusal);
    // By then the server has read all that came.
    await closed;
    assert.deepEqual([requests, connections.length], [1, 1]);
  });
});
