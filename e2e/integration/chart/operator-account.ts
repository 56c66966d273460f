import { KubeConfig } from '@kubernetes/client-node';
import type { KubeClient } from '../../../operator/kube/client.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import type { ApiServer } from '../../ground/kubernetes/api-server.ts';
import { releaseName, releaseNamespace } from './helm.ts';

const signal = new AbortController().signal;

/** The name of the operator's account to the API server. */
export const operatorAccount = `system:serviceaccount:${releaseNamespace}:${releaseName}`;

/** How the operator of the release reaches the API server: with the token of its ServiceAccount, and what is bound to that. */
export async function operatorConfig(server: ApiServer, client: KubeClient): Promise<KubeConfig> {
  return await accountConfig(server, client, { namespace: releaseNamespace, name: releaseName });
}

/** The same for any other account that is there. */
export async function accountConfig(
  server: ApiServer,
  client: KubeClient,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<KubeConfig> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const answer = await client.raw({ method: 'POST', path, body: { spec: {} }, signal });
  const { token } = (answer as KubeObject & { status: { token: string } }).status;
  const config = new KubeConfig();
  const cluster = server.config().getCurrentCluster();
  if (!cluster) throw new Error('the API server has no address');
  config.loadFromClusterAndUser(cluster, { name, token });
  return config;
}
