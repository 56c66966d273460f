import { KubeConfig } from '@kubernetes/client-node';

/** Where the configuration of the API server may come from. */
export interface KubeConfigSources {
  /** An explicitly named kubeconfig file. */
  readonly path?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * The configuration of the API server: the named file; otherwise, in a pod, its service account; otherwise what kubectl uses.
 * @throws Error if the file cannot be read.
 */
export function loadKubeConfig({ path, env }: KubeConfigSources): KubeConfig {
  const config = new KubeConfig();
  if (path !== undefined) config.loadFromFile(path);
  else if (env['KUBERNETES_SERVICE_HOST'] !== undefined) config.loadFromCluster();
  else config.loadFromDefault();
  return config;
}
