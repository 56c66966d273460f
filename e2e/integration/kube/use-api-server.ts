import { Registry } from 'prom-client';
import { KubeClient } from '../../../operator/kube/client.ts';
import { KubeMetrics } from '../../../operator/kube/metrics.ts';
import { ApiServer } from '../../ground/kubernetes/api-server.ts';

/** Starts an API server before the tests of a suite, with a client of it, and stops both after them. */
export function useApiServer(
  onReady: (server: ApiServer, client: KubeClient) => void | Promise<void>,
): void {
  let stop: (() => Promise<void>) | undefined;
  before(async () => {
    const server = await ApiServer.start();
    const client = new KubeClient(server.config(), new KubeMetrics(new Registry()));
    stop = async () => {
      client[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    };
    await onReady(server, client);
  });
  after(async () => {
    await stop?.();
  });
}
