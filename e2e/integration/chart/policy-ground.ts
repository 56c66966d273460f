import { Registry } from 'prom-client';
import { KubeClient } from '../../../operator/kube/client.ts';
import { KubeMetrics } from '../../../operator/kube/metrics.ts';
import type { ApiServer } from '../../ground/kubernetes/api-server.ts';
import { installDefinitions } from '../operator/custom-resources.ts';
import { chartFolder, helm, releaseName, releaseNamespace } from './helm.ts';
import { operatorConfig } from './operator-account.ts';

const signal = new AbortController().signal;

/** An API server with the release of the chart, whose operator does not run, and the namespace `shop`. */
export interface PolicyGround {
  /** With the token of the operator's account. */
  readonly operator: KubeClient;
  /** Changes the values of the release. */
  readonly putRelease: (values: object) => Promise<void>;
}

/** @param values - of the release; the definitions are there without it. */
export async function installRelease(
  server: ApiServer,
  client: KubeClient,
  values: object,
): Promise<PolicyGround> {
  await installDefinitions(client);
  for (const name of [releaseNamespace, 'shop']) {
    const body = { metadata: { name } };
    await client.raw({ method: 'POST', path: '/api/v1/namespaces', body, signal });
  }
  const env = { KUBECONFIG: await server.writeKubeConfig() };
  const putRelease = async (changed: object): Promise<void> => {
    const input = JSON.stringify({ crds: { enabled: false }, ...changed });
    const args = ['upgrade', '--install', releaseName, chartFolder, '--values', '-'];
    await helm([...args, '--namespace', releaseNamespace], { input, env });
  };
  await putRelease(values);
  const config = await operatorConfig(server, client);
  return { operator: new KubeClient(config, new KubeMetrics(new Registry())), putRelease };
}
