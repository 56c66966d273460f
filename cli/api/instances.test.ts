import assert from 'node:assert/strict';
import { startHttpServer, type HttpServer } from '../../service/testing/http-server.ts';
import { Instances } from './instances.ts';

const signal = new AbortController().signal;

describe('Instances', () => {
  const servers: HttpServer[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
  });

  /** Where commands are answered so, and how many were. */
  async function answering(answer: object): Promise<{ readonly url: string; count: number }> {
    const target = { url: '', count: 0 };
    const server = await startHttpServer((request, response) => {
      target.count++;
      request.resume();
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(answer));
    });
    servers.push(server);
    target.url = server.url;
    return target;
  }

  async function limit(...urls: readonly string[]): Promise<void> {
    const addresses = urls.map((url) => () => ({ url, apiToken: undefined }));
    await new Instances(addresses).limits({ maxChangesPerSecond: 7 }, signal);
  }

  /** Nothing listens on the port of discarded data. */
  const silent = 'http://127.0.0.1:9';

  it('give limits to one instance that answers', async () => {
    const [first, second] = [
      await answering({ success: true }),
      await answering({ success: true }),
    ];
    await limit(first.url, second.url);
    assert.deepEqual([first.count, second.count], [1, 0]);
    await limit(silent, second.url);
    assert.equal(second.count, 1);
  });

  it('do not ask another one if limits are refused, and say so if none answers', async () => {
    const error = { success: false, error: 'InvalidBody', errorDescription: 'too little' };
    const [first, second] = [await answering(error), await answering({ success: true })];
    await assert.rejects(limit(first.url, second.url), { name: 'InvalidBody' });
    assert.equal(second.count, 0);
    await assert.rejects(limit(silent, silent), { name: 'ToolUnreachable' });
  });
});
