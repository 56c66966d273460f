import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { SourceTopologies } from '../../../operator/clustersync/source-topologies.ts';
import { systemClock } from '../../../operator/kube/clock.ts';
import { apiTargetAt } from '../../../operator/operand/http-api.ts';
import type { MonitorTarget } from '../../../operator/operand/monitor.ts';
import { createLogger } from '../../../service/logger.ts';
import { until } from '../../ground/until.ts';
import { LoopbackAddresses } from './loopback-addresses.ts';
import { StandIn, topologyOf } from './stand-in.ts';

const port = 27182;
const ids = ['shard-0', 'shard-1'] as const;

describe('what the operator asks the first syncer for', () => {
  const addresses = new LoopbackAddresses();

  after(async () => {
    await addresses[Symbol.asyncDispose]();
  });

  it('asks again when the process is another one, and when the answer is a minute old', async () => {
    let changes = 0;
    let laterMs = 0;
    const address = await addresses.reserve();
    await using syncer = await StandIn.start(address, port, {});
    await using sources = new SourceTopologies({
      onChange: () => {
        changes += 1;
      },
      logger: createLogger('test', 'fatal'),
      clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs },
    });
    const target = (process: string): MonitorTarget => {
      return { ...apiTargetAt({ ip: address, port }, 'token', undefined), process };
    };
    const shards = (): readonly string[] => {
      const view = sources.view('a');
      return view.kind === 'found' ? view.source.shards : [];
    };
    syncer.answers.set('topology', { success: false, error: 'AuthenticationFailed' });
    assert.deepEqual(sources.view('a'), { kind: 'unknown' });
    sources.watch('a', target('one'));
    await until('it has failed', () => sources.view('a').kind === 'failed');
    syncer.answers.set('topology', topologyOf(...ids));
    sources.watch('a', target('two'));
    assert.deepEqual(sources.view('a'), { kind: 'unknown' });
    await until('it has answered', () => shards().length === 2);
    assert.equal(changes, 2);

    syncer.answers.set('topology', topologyOf(...ids, 'shard-2'));
    sources.watch('a', target('two'));
    assert.deepEqual(shards(), ids);
    laterMs = 60_000;
    sources.watch('a', target('two'));
    await until('it has answered again', () => shards().length === 3);
    assert.equal(changes, 3);
    // One that tells no more has told all the same; what is no topology is none; nothing is known of what is not there.
    laterMs = 120_000;
    syncer.answers.set('topology', { topology: { kind: 'sharded', shards: [1] } });
    sources.watch('a', target('two'));
    sources.watch('b', target('two'));
    await until('there is no topology', () => sources.view('b').kind === 'silent');
    await until('the other is old', () => {
      const view = sources.view('a');
      return view.kind === 'found' && view.isOld === true;
    });
    assert.equal(shards().length, 3);
    sources.watch('a', undefined);
    assert.deepEqual(sources.view('a'), { kind: 'unknown' });
    // Another tool, that has what the contract has.
    syncer.answers.delete('topology');
    sources.watch('c', target('two'));
    await until('it does not tell', () => sources.view('c').kind === 'found');
    assert.deepEqual(sources.view('c'), {
      kind: 'found',
      source: { kind: 'Unknown', shards: [] },
    });
    // What is under way when it is forgotten, or at the end, is given up.
    sources.watch('d', target('two'));
    sources.forget('d');
    sources.watch('e', target('two'));
  });

  it('keeps nobody waiting for a pod that does not answer, or answers without end', async () => {
    const changed: string[] = [];
    const sockets = new Set<Socket>();
    const stalling = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
    });
    const endless = createHttpServer((_request, response) => {
      const write = (): void => {
        while (!response.destroyed && response.write('x'.repeat(64 * 1024)));
      };
      response.on('drain', write);
      write();
    });
    const address = await addresses.reserve();
    await using stack = new AsyncDisposableStack();
    stack.use(await StandIn.start(address, port, {}));
    for (const server of [stalling, endless]) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    }
    stack.defer(async () => {
      const closed = Promise.all([once(stalling, 'close'), once(endless, 'close')]);
      stalling.close();
      endless.close();
      endless.closeAllConnections();
      for (const socket of sockets) socket.destroy();
      await closed;
    });
    const at = (server: { address(): unknown }): MonitorTarget => {
      const { port: itsPort } = server.address() as AddressInfo;
      return {
        ...apiTargetAt({ ip: '127.0.0.1', port: itsPort }, 'token', undefined),
        process: 'a',
      };
    };
    await using sources = new SourceTopologies({
      onChange: (key) => changed.push(key),
      logger: createLogger('test', 'fatal'),
    });
    for (let index = 0; index < 48; index++) sources.watch(`stalling-${index}`, at(stalling));
    sources.watch('endless', at(endless));
    sources.watch('good', {
      ...apiTargetAt({ ip: address, port }, 'token', undefined),
      process: 'a',
    });
    await until('the good one has answered', () => sources.view('good').kind === 'found');
    await until('the endless one is given up', () => sources.view('endless').kind === 'silent');
    assert.deepEqual(changed.sort(), ['endless', 'good']);
    await until('48 are asked', () => sockets.size === 48);
  });
});
