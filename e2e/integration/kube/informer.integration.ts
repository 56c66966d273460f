import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import { configMaps, type ConfigMap } from '../../../operator/kube/builtin-resources.ts';
import { KubeClient } from '../../../operator/kube/client.ts';
import type { Clock } from '../../../operator/kube/clock.ts';
import { Informer } from '../../../operator/kube/informer.ts';
import { isGone } from '../../../operator/kube/kube-error.ts';
import { KubeMetrics } from '../../../operator/kube/metrics.ts';
import type { ObjectEvent } from '../../../operator/kube/object-store.ts';
import { FakeClock } from '../../../operator/kube/testing/fake-clock.ts';
import { watch } from '../../../operator/kube/watch.ts';
import { forEachConcurrently } from '../../../service/concurrency.ts';
import { createLogger } from '../../../service/logger.ts';
import type { ApiServer } from '../../ground/kubernetes/api-server.ts';
import { TcpProxy } from '../../ground/tcp-proxy.ts';
import { until } from '../../ground/until.ts';
import { useApiServer } from './use-api-server.ts';

const namespace = 'default';

describe('Informer, on a real API server', () => {
  let server: ApiServer;
  let client: KubeClient;
  let proxy: TcpProxy;
  let proxied: KubeClient;
  let stop: AbortController;
  let running: Promise<void>[];
  let prefix: string;
  let logged: string[];
  let tests = 0;

  useApiServer((started, itsClient) => {
    server = started;
    client = itsClient;
  });

  beforeEach(async () => {
    proxy = await TcpProxy.start(server.port);
    proxied = new KubeClient(server.config(proxy.port), new KubeMetrics(new Registry()));
    stop = new AbortController();
    running = [];
    logged = [];
    prefix = `test-${tests++}`;
  });

  afterEach(async () => {
    stop.abort();
    await Promise.all(running);
    proxied[Symbol.dispose]();
    await proxy[Symbol.asyncDispose]();
  });

  const signal = new AbortController().signal;

  function startInformer(
    options: { inactivityMs?: number; watchSeconds?: number; clock?: Clock } = {},
  ): {
    informer: Informer<ConfigMap, 'team'>;
    events: ObjectEvent<ConfigMap>[];
  } {
    const informer = new Informer<ConfigMap, 'team'>({
      client: proxied,
      resource: configMaps,
      namespace,
      labelSelector: `test=${prefix}`,
      logger: createLogger('test', 'debug', (line) => logged.push(line)),
      indexes: { team: ({ data }) => (data?.['team'] === undefined ? [] : [data['team']]) },
      ...options,
    });
    const events: ObjectEvent<ConfigMap>[] = [];
    informer.addHandler((event) => events.push(event));
    running.push(informer.run(stop.signal));
    return { informer, events };
  }

  async function put(name: string, team: string): Promise<ConfigMap> {
    return await client.apply(
      configMaps,
      {
        metadata: { namespace, name: `${prefix}-${name}`, labels: { test: prefix } },
        data: { team },
      },
      { signal },
    );
  }

  async function remove(name: string): Promise<void> {
    assert.ok(
      await client.delete(configMaps, { namespace, name: `${prefix}-${name}` }, { signal }),
    );
  }

  const times = (message: string): number =>
    logged.filter((line) => line.includes(`"msg":"${message}"`)).length;
  const key = (name: string): string => `${namespace}/${prefix}-${name}`;
  const kinds = (events: readonly ObjectEvent<ConfigMap>[], name: string): string[] =>
    events
      .filter(({ object }) => object.metadata.name === `${prefix}-${name}`)
      .map(({ kind }) => kind);

  it('lists, then follows: added, updated, deleted, by key and by index', async () => {
    await put('a', 'red');
    const { informer, events } = startInformer();
    assert.equal(informer.hasSynced, false);
    await informer.synced(signal);
    assert.equal(informer.get(key('a'))?.data?.['team'], 'red');
    assert.equal(informer.get(key('a'))?.kind, 'ConfigMap');
    await put('b', 'red');
    await until('b is there', () => informer.byIndex('team', 'red').length === 2);
    await put('a', 'blue');
    await until('a is blue', () => informer.byIndex('team', 'blue').length === 1);
    await remove('b');
    await until('b is gone', () => informer.get(key('b')) === undefined);
    assert.deepEqual(kinds(events, 'a'), ['added', 'updated']);
    assert.deepEqual(kinds(events, 'b'), ['added', 'deleted']);
    assert.deepEqual(informer.byIndex('team', 'red'), []);
  });

  it('reads more objects than one page holds', async () => {
    const names = Array.from({ length: 1100 }, (_, index) => `page-${index}`);
    await forEachConcurrently(names, 16, async (name) => {
      await put(name, 'x');
    });
    const { informer } = startInformer();
    await informer.synced(signal);
    assert.equal(informer.list().length, names.length);
  });

  it('resumes where it was when the connection breaks, without listing again', async () => {
    await put('a', 'red');
    // It tries again when told to: the third failure in a row would have it list again.
    const clock = new FakeClock();
    const { informer, events } = startInformer({ clock });
    await informer.synced(signal);
    await put('b', 'red');
    await until('the watch is open', () => informer.get(key('b')) !== undefined);
    proxy.refuse();
    await until('the watch has failed', () => times('watch failed') === 1);
    await put('a', 'blue');
    await remove('b');
    proxy.heal();
    await clock.advance(2_000);
    await until('the missed events came', () => kinds(events, 'b').length === 2);
    assert.deepEqual(kinds(events, 'a'), ['added', 'updated']);
    assert.deepEqual(kinds(events, 'b'), ['added', 'deleted']);
    assert.equal(times('listed'), 1);
  });

  it('begins a new watch when the server ends one', async () => {
    // A watch that opens so late that it ends at once would be one that has failed.
    const { informer } = startInformer({ watchSeconds: 5 });
    await informer.synced(signal);
    await put('a', 'red');
    await until('the first watch is open', () => informer.get(key('a')) !== undefined);
    await until('two watches have ended', () => times('watch ended') >= 2);
    await put('b', 'red');
    await until('the third watch is open', () => informer.get(key('b')) !== undefined);
    assert.equal(times('listed'), 1);
    assert.equal(times('watch failed'), 0);
  });

  it('notices a server that has gone silent', async () => {
    const { informer } = startInformer({ inactivityMs: 500 });
    await informer.synced(signal);
    await put('a', 'red');
    await until('the watch is open', () => informer.get(key('a')) !== undefined);
    proxy.freeze();
    await put('b', 'red');
    const before = proxy.accepted;
    await until('a new connection is tried', () => proxy.accepted > before);
    proxy.cut();
    proxy.heal();
    await until('b is there', () => informer.get(key('b')) !== undefined);
  });

  it('finds what it missed when its version is gone: 410 in the stream, and the server new', async () => {
    await put('a', 'red');
    await put('b', 'red');
    const { informer, events } = startInformer();
    await informer.synced(signal);
    await put('c', 'red');
    await until('the watch is open', () => informer.get(key('c')) !== undefined);
    const oldVersion = informer.get(key('c'))?.metadata.resourceVersion ?? '';
    proxy.refuse();
    await remove('a');
    await put('b', 'blue');
    await put('d', 'red');
    await server.compact();
    await server.stopApi();
    await server.startApi();
    const expired = watch(client, configMaps, {
      namespace,
      resourceVersion: oldVersion,
      timeoutSeconds: 5,
      inactivityMs: 5_000,
      signal,
    }).next();
    await assert.rejects(expired, isGone, 'the version must really be gone');
    proxy.heal();
    await until('d is there', () => informer.get(key('d')) !== undefined);
    assert.equal(informer.get(key('a')), undefined);
    assert.equal(informer.get(key('b'))?.data?.['team'], 'blue');
    assert.deepEqual(kinds(events, 'a'), ['added', 'deleted']);
    assert.deepEqual(kinds(events, 'b'), ['added', 'updated']);
    assert.deepEqual(kinds(events, 'd'), ['added']);
    assert.equal(times('listed'), 2);
  });

  it('starts before the API server does', async () => {
    proxy.refuse();
    const { informer } = startInformer();
    await until('it has tried twice', () => proxy.accepted >= 2);
    assert.equal(informer.hasSynced, false);
    await put('a', 'red');
    proxy.heal();
    await informer.synced(signal);
    assert.ok(informer.get(key('a')));
  });

  it('delivers again what a handler threw on, and the others do not notice', async () => {
    const { informer, events } = startInformer();
    const taken: string[] = [];
    let failures = 0;
    informer.addHandler((event) => {
      if (failures++ < 2) throw new Error('not yet');
      taken.push(`${event.kind} ${event.object.data?.['team'] ?? ''}`);
    });
    await informer.synced(signal);
    await put('a', 'red');
    await until('the other handler has it', () => kinds(events, 'a').length === 1);
    await until('it is taken', () => taken.length > 0);
    assert.deepEqual(taken, ['added red']);
    assert.ok(informer.get(key('a')));
  });

  it('leaves nothing open when it is stopped, whatever it was doing', async () => {
    const { informer } = startInformer();
    await informer.synced(signal);
    await put('a', 'red');
    await until('the watch is open', () => informer.get(key('a')) !== undefined);
    stop.abort();
    await Promise.all(running);
    proxied[Symbol.dispose]();
    await until('no connection is left', () => proxy.connections === 0);
  });

  it('runs once at a time', async () => {
    const { informer } = startInformer();
    await assert.rejects(informer.run(stop.signal), /is already running/);
  });
});
