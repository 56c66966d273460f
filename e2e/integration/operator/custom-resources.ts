import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { secrets } from '../../../operator/kube/builtin-resources.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { operatorOptionTable } from '../../../operator/options.ts';
import { untilServed } from '../kube/until-served.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const signal = new AbortController().signal;

/** Installs the CustomResourceDefinitions of crds/ and waits until their resources are served. */
export async function installDefinitions(client: KubeClient): Promise<void> {
  for (const plural of ['clustersyncs', 'syncverifications']) {
    const file = new URL(`../../../crds/${plural}.yaml`, import.meta.url);
    const body = parse(await readFile(file, 'utf8')) as object;
    await client.raw({ method: 'POST', path: definitions, body, signal });
    const path = `/apis/clustersync.dev/v1alpha1/${plural}`;
    await untilServed(plural, async () => await client.raw({ method: 'GET', path, signal }));
  }
}

/** Makes the Secret that the chart installs for an operator: empty, in the namespace of its Leases. */
export async function makeKeySecret(client: KubeClient): Promise<void> {
  const metadata = { namespace: 'default', name: operatorOptionTable.apiKeySecret.default };
  await client.create(secrets, { metadata }, { signal });
}

/** The spec of a ClusterSync with nothing but what is needed. */
export const smallestSpec = {
  source: { name: 'old', uriSecretRef: { name: 'old-uri' } },
  destination: { name: 'new', uriSecretRef: { name: 'new-uri' } },
} as const;

/** What a Secret holds for these values of its keys. */
export function secretData(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  );
}

/** What a Secret holds for a connection string. */
export function uriData(uri: string): { readonly uri: string } {
  return { uri: Buffer.from(uri).toString('base64') };
}
