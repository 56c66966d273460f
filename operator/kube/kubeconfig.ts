import { KubeConfig } from '@kubernetes/client-node';

/** Where the way to the API server may come from. */
export interface KubeConfigSources {
  /** A kubeconfig file that was asked for by name. */
  readonly path?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * The way to the API server: the file that was asked for; else, in a pod, its service account; else what kubectl uses.
 * @throws Error when the file cannot be read.
 */
export function loadKubeConfig({ path, env }: KubeConfigSources): KubeConfig {
  const config = new KubeConfig();
  if (path !== undefined) config.loadFromFile(path);
  else if (env['KUBERNETES_SERVICE_HOST'] !== undefined) config.loadFromCluster();
  else config.loadFromDefault();
  return config;
}
