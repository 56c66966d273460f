import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ApiServer } from '../../ground/kubernetes/api-server.ts';

/** A node of an API server that has none. It ends with this object. */
export interface PlayedKubelet extends AsyncDisposable {
  readonly nodeName: string;
}

/**
 * Registers a node, and answers as its kubelet would when the API server asks for logs: with one line, which names the pod and says
 * whether the log was to be followed.
 * @param keepsFollowed - whether a log that is followed has no end, as that of a container that runs.
 */
export async function playKubelet(
  server: ApiServer,
  { keepsFollowed = false } = {},
): Promise<PlayedKubelet> {
  const nodeName = 'played';
  const certificate = server.config().getCurrentCluster()?.caFile ?? '';
  const kubelet = createServer(
    {
      cert: await readFile(certificate),
      key: await readFile(certificate.replace(/\.crt$/, '.key')),
    },
    (request, response) => {
      const url = new URL(request.url ?? '/', 'https://kubelet');
      const [, resource, , pod] = url.pathname.split('/');
      const mode = url.searchParams.get('follow') === 'true' ? 'followed' : 'as it is';
      response.statusCode = resource === 'containerLogs' ? 200 : 404;
      response.write(`log of ${pod}, ${mode}\n`);
      if (!keepsFollowed || mode !== 'followed') response.end();
    },
  );
  await once(kubelet.listen(0, '127.0.0.1'), 'listening');
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } };
  await server.kubectl(['create', '--filename', '-'], { input: JSON.stringify(node) });
  const { port } = kubelet.address() as AddressInfo;
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  };
  const patch = `--patch=${JSON.stringify({ status })}`;
  await server.kubectl(['patch', 'node', nodeName, '--subresource=status', '--type=merge', patch]);
  return {
    nodeName,
    [Symbol.asyncDispose]: async () => {
      const closed = once(kubelet, 'close');
      kubelet.close();
      kubelet.closeAllConnections();
      await closed;
    },
  };
}
