import { fileURLToPath } from 'node:url';
import { CommandError } from '../command.ts';
import { clusterDeadlineMs, clusterTimeout } from '../default-deadline.ts';
import { useCluster, type Cluster } from './cluster.ts';

/** Where the operator runs. */
export const operatorNamespace = 'clustersync';

/** Name of the release, of the operator's Deployment and of its Lease. */
export const operatorName = 'clustersync';

const chart = fileURLToPath(new URL('../../../charts/clustersync', import.meta.url));

let installed: Promise<Cluster> | undefined;

/** The cluster of this checkout, with the operator of this checkout in it: installed by the first call. */
export async function useOperator(): Promise<Cluster> {
  const install = async (): Promise<Cluster> => {
    const cluster = await useCluster();
    await installOperator(cluster, await cluster.loadImage());
    return cluster;
  };
  return await (installed ??= install());
}

const waiting = ['--wait', '--timeout', clusterTimeout];

/**
 * Installs the chart as a user would, or upgrades it, and waits until the operator is ready. May be repeated.
 * @param values - more values of the chart, as `helm --set` takes them; those of a former call are forgotten.
 */
export async function installOperator(
  cluster: Cluster,
  image: string,
  {
    values = [],
    ...options
  }: { readonly values?: readonly string[]; readonly signal?: AbortSignal } = {},
): Promise<void> {
  const at = image.lastIndexOf(':');
  const install = async (): Promise<void> => {
    await cluster.helm(
      [
        ...['upgrade', '--install', operatorName, chart],
        ...['--namespace', operatorNamespace, '--create-namespace', ...waiting],
        ...[
          '--set-string',
          `image.repository=${image.slice(0, at)},image.tag=${image.slice(at + 1)}`,
        ],
        ...['--set', ['crds.keep=false', 'logLevel=debug', ...values].join()],
      ],
      { deadlineMs: clusterDeadlineMs + 30_000, ...options },
    );
  };
  try {
    await install();
  } catch (error) {
    const isHalfInstalled =
      error instanceof CommandError && error.standardError.includes('another operation');
    if (!isHalfInstalled) throw error;
    await uninstallOperator(cluster);
    await install();
  }
}

/** Uninstalls the chart with its CustomResourceDefinitions, and so all resources of theirs, where it is this module's. */
export async function uninstallOperator(cluster: Cluster): Promise<void> {
  installed = undefined;
  const args = ['uninstall', operatorName, '--namespace', operatorNamespace];
  await cluster.helm([...args, '--ignore-not-found', ...waiting], {
    deadlineMs: clusterDeadlineMs + 30_000,
  });
}
