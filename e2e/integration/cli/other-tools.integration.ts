import assert from 'node:assert/strict';
import { CliProcess } from '../../ground/cli-process.ts';
import { SyncTools } from '../../ground/sync-tool/sync-tools.ts';
import { freePort } from '../../ground/free-port.ts';

const address = '127.0.0.1';
const hourMs = 3_600_000;

describe('the commands to a tool that speaks as mongosync does', () => {
  let tools: SyncTools;
  let url = '';

  beforeEach(async () => {
    const port = await freePort();
    url = `http://${address}:${port}`;
    tools = await SyncTools.start({
      dialect: 'mongosync',
      addresses: [address],
      port,
      copyMs: hourMs,
      turnMs: hourMs,
      initializingMs: hourMs,
    });
  });

  afterEach(async () => {
    await tools[Symbol.asyncDispose]();
  });

  async function say(...args: readonly string[]): Promise<string> {
    await using cli = await CliProcess.start([...args, '--url', url]);
    const { exitCode } = await cli.end();
    assert.equal(exitCode, 0, await cli.errors());
    return await cli.output();
  }

  async function start(): Promise<void> {
    tools.skip(address, hourMs);
    const body = JSON.stringify({ source: 'cluster0', destination: 'cluster1' });
    const response = await fetch(`${url}/api/v1/start`, { method: 'POST', body });
    assert.equal(response.status, 200);
  }

  it('show the state that it has and no other tool, and not that there is no sync', async () => {
    assert.match(await say('status'), /^state +INITIALIZING\n/);
  });

  it('show its progress, though it does not tell the collections that it copies', async () => {
    await start();
    assert.match(await say('progress'), /^copy: .* of 1\.0 GB/);
  });

  it('show the lag, which it tells by kinds of events', async () => {
    await start();
    await say('status');
    tools.skip(address, hourMs);
    const status = await say('status');
    assert.match(status, /^state +RUNNING: change event application$/m);
    assert.match(status, /^lag +[0-3] s$/m);
  });
});
