import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { Registry } from 'prom-client';
import { hashOfToken } from './api-token.ts';
import { SyncError } from './errors.ts';
import { genericErrorBody, startHttpServer, type HttpServer, type Route } from './http-server.ts';
import { JsonLines } from './json-lines.ts';
import { createLogger } from './logger.ts';

const manyLines = 200_000;

describe('an answer of JSON lines', () => {
  let server: HttpServer;
  const log: string[] = [];
  /** How many objects of the last answer were read, and that it has ended. */
  let read = 0;
  let ended = Promise.withResolvers<undefined>();

  async function* count(to: number, failsAt?: number): AsyncGenerator<object, void> {
    read = 0;
    ended = Promise.withResolvers();
    try {
      for (let n = 0; n < to; n++) {
        if (n === failsAt) throw new SyncError('ClusterUnreachable', 'gone');
        read++;
        yield await Promise.resolve({ n, text: 'x'.repeat(80) });
      }
    } finally {
      ended.resolve(undefined);
    }
  }

  const route = (path: string, to: number, failsAt?: number): Route => ({
    method: 'GET',
    path: `/api/v1/${path}`,
    handle: () => new JsonLines(count(to, failsAt)),
    errorBody: genericErrorBody,
  });

  before(async () => {
    server = await startHttpServer({
      host: '127.0.0.1',
      port: 0,
      logger: createLogger('test', 'warn', (line) => log.push(line)),
      metrics: new Registry(),
      isReady: () => true,
      apiTokenHash: hashOfToken('a token of 16 or more'),
      routes: [
        ...[route('none', 0), route('some', 1000), route('many', manyLines)],
        ...[route('fails', 10, 0), route('breaks', 1000, 900)],
      ],
    });
  });

  after(async () => {
    await server[Symbol.asyncDispose]();
  });

  async function get(path: string): Promise<IncomingMessage> {
    const headers = { Authorization: 'Bearer a token of 16 or more' };
    const sent = request({ port: server.port, path: `/api/v1/${path}`, headers }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return response;
  }

  it('has one object in each line, and none where there is none', async () => {
    const response = await get('some');
    assert.equal(response.statusCode, 200);
    assert.equal(response.headers['content-type'], 'application/x-ndjson');
    const lines = (await textOf(response)).trimEnd().split('\n');
    const numbers = lines.map((line) => (JSON.parse(line) as { readonly n: number }).n);
    assert.deepEqual(
      numbers,
      Array.from({ length: 1000 }, (_, n) => n),
    );
    const none = await get('none');
    assert.deepEqual([none.statusCode, await textOf(none)], [200, '']);
  });

  it('asks for the token', async () => {
    const { status } = await fetch(`http://127.0.0.1:${server.port}/api/v1/some`);
    assert.equal(status, 401);
  });

  it('is any other error if it fails before its first line', async () => {
    const response = await get('fails');
    assert.equal(response.statusCode, 503);
    const body = JSON.parse(await textOf(response)) as Record<string, unknown>;
    assert.equal(body['error'], 'ClusterUnreachable');
  });

  it('ends with the error and a broken connection if it fails later', async () => {
    const response = await get('breaks');
    let text = '';
    await assert.rejects(async () => {
      for await (const chunk of response) text += String(chunk);
    }, /aborted/);
    const lines = text.trimEnd().split('\n');
    assert.equal(lines.length, 901);
    assert.deepEqual(JSON.parse(lines.at(-1) ?? ''), { error: 'ClusterUnreachable: gone' });
  });

  it('reads no faster than the client, and nothing more once it is gone', async () => {
    const response = await get('many');
    await once(response, 'readable');
    let former = -1;
    // The client does not read on: the buffers of both ends fill up, and then nothing moves.
    while (former < read) {
      former = read;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    assert.ok(read > 0 && read < manyLines / 2, String(read));
    response.destroy();
    await ended.promise;
    assert.ok(read < manyLines / 2, String(read));
    assert.deepEqual(
      log.filter((line) => !line.includes('gone')),
      [],
    );
  });
});
