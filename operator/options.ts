import { hostOption } from '../service/listening.ts';
import { logOptions } from '../service/logger.ts';
import { configOption, type Options, type OptionTable } from '../service/options.ts';

/** The options of `clustersync operator`. */
export const operatorOptionTable = {
  kubeconfig: {
    type: 'string',
    valueName: 'file',
    description:
      'kubeconfig for the API server; by default the service account in a pod, elsewhere that of kubectl',
  },
  watchNamespaces: {
    type: 'string',
    valueName: 'names',
    description: 'namespaces to watch, separated by commas; all by default',
  },
  operandImage: {
    type: 'string',
    required: true,
    valueName: 'image',
    description: 'image of syncers and verifiers whose resource does not set one',
  },
  operandImages: {
    type: 'string',
    valueName: 'names',
    description:
      'registries, repositories and images that a resource may use instead, separated by commas; none by default',
  },
  operandPodFields: {
    type: 'string',
    valueName: 'names',
    description:
      'fields of `podTemplate` that a resource may set, separated by commas, as spec.priorityClassName, or spec.priorityClassName=low for one value; none by default',
  },
  operandEgress: {
    type: 'string',
    valueName: 'json',
    description:
      'peers that syncers and verifiers may reach in addition to DNS, as a list of NetworkPolicy peers; all by default',
  },
  operandImagePullPolicy: {
    type: 'string',
    default: 'IfNotPresent',
    choices: ['Always', 'IfNotPresent', 'Never'],
    description: 'pull policy of operands whose resource does not set one',
  },
  leaderElect: {
    type: 'boolean',
    default: true,
    description: 'reconcile only while holding the Lease, so that several replicas may run',
  },
  leaseDurationSeconds: {
    type: 'integer',
    default: 15,
    range: [3, 3_600],
    description:
      'time after which another replica takes over from a leader that is gone; a leader that cannot renew the Lease steps down earlier',
  },
  leaseName: { type: 'string', default: 'clustersync-operator', description: 'name of the Lease' },
  leaseNamespace: {
    type: 'string',
    default: 'default',
    description: 'namespace of the Leases and of the Secret in `apiKeySecret`',
  },
  apiKeySecret: {
    type: 'string',
    default: 'clustersync-operator-api-key',
    description:
      'name of the Secret with the key from which the API tokens of syncers and verifiers are derived; it must exist; if it is empty, the operator creates a key',
  },
  port: {
    type: 'integer',
    default: 8080,
    range: [0, 65_535],
    description: 'port of /healthz, /readyz and /metrics; 0 for any free port',
  },
  ...hostOption,
  dashboard: {
    type: 'boolean',
    default: false,
    description: 'serve the dashboard: a read-only page with all syncs',
  },
  dashboardPort: {
    type: 'integer',
    default: 8081,
    range: [0, 65_535],
    description: 'port of the dashboard; 0 for any free port',
  },
  dashboardHost: {
    type: 'string',
    default: '127.0.0.1',
    description:
      'address that the dashboard listens on; any but a loopback address requires `dashboardToken`',
  },
  dashboardToken: {
    type: 'string',
    secret: true,
    valueName: 'token',
    description: 'token that the dashboard requires',
  },
  docsUrl: {
    type: 'string',
    valueName: 'url',
    description:
      'address of a page of this documentation, with `{page}` for its path without the ending: the dashboard links what to do about a reason; no links by default',
  },
  ...logOptions,
  ...configOption,
} as const satisfies OptionTable;

export type OperatorOptions = Options<typeof operatorOptionTable>;

/** The names in a comma-separated option. */
export function namesIn(list: string | undefined): string[] {
  const names = (list ?? '').split(',').map((name) => name.trim());
  return names.filter((name) => name !== '');
}
