import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Instances } from './instances.ts';

const signal = new AbortController().signal;

describe('Instances', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  /** Where commands are answered so, and how many were. */
  async function answering(answer: object): Promise<{ readonly url: string; count: number }> {
    const target = { url: '', count: 0 };
    const server = createServer((request, response) => {
      target.count++;
      request.resume();
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(answer));
    });
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    target.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
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
