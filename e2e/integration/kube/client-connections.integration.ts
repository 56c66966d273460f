import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { Registry } from 'prom-client';
import { configMaps } from '../../../operator/kube/builtin-resources.ts';
import { KubeClient } from '../../../operator/kube/client.ts';
import { KubeError } from '../../../operator/kube/kube-error.ts';
import { KubeMetrics } from '../../../operator/kube/metrics.ts';
import type { ApiServer } from '../../ground/kubernetes/api-server.ts';
import { TcpProxy } from '../../ground/tcp-proxy.ts';
import { until } from '../../ground/until.ts';
import { useApiServer } from './use-api-server.ts';

const { signal } = new AbortController();
const namespace = 'default';

describe('connections of KubeClient', () => {
  const registry = new Registry();
  const metrics = new KubeMetrics(registry);
  let server: ApiServer;

  useApiServer((started) => {
    server = started;
  });

  it('gives up a request that is not answered in time, or is aborted, and counts it', async () => {
    await using proxy = await TcpProxy.start(server.port);
    using proxied = new KubeClient(server.config(proxy.port), metrics);
    await proxied.list(configMaps, { namespace, signal });
    proxy.freeze();
    await assert.rejects(
      proxied.list(configMaps, { namespace, signal, deadlineMs: 200 }),
      (error) => error instanceof KubeError && error.reason === 'DeadlineExceeded',
    );
    const reason = new Error('enough');
    const abort = new AbortController();
    const asked = proxied.list(configMaps, { namespace, signal: abort.signal });
    setImmediate(() => {
      abort.abort(reason);
    });
    await assert.rejects(asked, reason);
    proxy.refuse();
    await assert.rejects(
      proxied.list(configMaps, { namespace, signal }),
      (error) => error instanceof KubeError && error.reason === 'ConnectionFailed',
    );
    const text = await registry.metrics();
    const host = `127.0.0.1:${proxy.port}`;
    assert.ok(
      text.includes(`rest_client_requests_total{code="200",method="GET",host="${host}"} 1`),
    );
    assert.ok(
      text.includes(`rest_client_requests_total{code="<error>",method="GET",host="${host}"} 3`),
    );
  });

  it('uses a connection again, and outlives that the server has closed it', async () => {
    await using proxy = await TcpProxy.start(server.port);
    using proxied = new KubeClient(server.config(proxy.port), metrics);
    for (let round = 0; round < 5; round += 1) {
      await proxied.list(configMaps, { namespace, signal });
      await proxied.delete(configMaps, { namespace, name: 'nobody' }, { signal });
    }
    assert.equal(proxy.accepted, 1);
    proxy.cut();
    await proxied.list(configMaps, { namespace, signal });
    assert.equal(proxy.accepted, 2);
  });

  it('sends no write that it may not do any more when the connection is there at last', async () => {
    await using proxy = await TcpProxy.start(server.port);
    let isLeading = true;
    const mayWrite = (): boolean => isLeading;
    using proxied = new KubeClient(server.config(proxy.port), metrics, { mayWrite });
    proxy.freeze();
    const metadata = { namespace, name: 'too-late' };
    const written = proxied.create(configMaps, { metadata }, { signal });
    await until('it waits for its connection', () => proxy.connections === 1);
    isLeading = false;
    proxy.heal();
    await assert.rejects(
      written,
      (error) => error instanceof KubeError && error.reason === 'NotLeading',
    );
    assert.equal(await proxied.find(configMaps, metadata, { signal }), undefined);
  });

  it('goes through the proxy that its configuration names', async () => {
    const proxy = createServer();
    const asked: string[] = [];
    proxy.on('connect', ({ url = '' }: IncomingMessage, client: Socket) => {
      asked.push(url);
      const target = connect(server.port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        client.pipe(target).pipe(client);
      });
      for (const socket of [client, target]) socket.on('error', () => target.destroy());
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    try {
      const config = server.config();
      const cluster = config.getCurrentCluster();
      assert.ok(cluster);
      const { port } = proxy.address() as AddressInfo;
      config.clusters = [{ ...cluster, proxyUrl: `http://127.0.0.1:${port}` }];
      using proxied = new KubeClient(config, metrics);
      const metadata = { namespace, name: 'by-proxy' };
      await proxied.create(configMaps, { metadata, data: { a: 'b' } }, { signal });
      const found = await proxied.find(configMaps, metadata, { signal });
      assert.deepEqual(found?.data, { a: 'b' });
      assert.deepEqual([...new Set(asked)], [`127.0.0.1:${server.port}`]);
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  });

  it('trusts no server that its configuration does not vouch for', async () => {
    const config = server.config();
    const cluster = config.getCurrentCluster();
    assert.ok(cluster);
    config.loadFromClusterAndUser(
      { name: 'test', server: cluster.server, skipTLSVerify: false },
      { name: 'admin', token: 'x' },
    );
    using stranger = new KubeClient(config, metrics);
    await assert.rejects(stranger.list(configMaps, { namespace, signal }), /ConnectionFailed/);
  });
});
