import { hostOption } from '../service/listening.ts';
import { logOptions } from '../service/logger.ts';
import { configOption, type Options, type OptionTable } from '../service/options.ts';

/** The options of `clustersync operator`. */
export const operatorOptionTable = {
  kubeconfig: {
    type: 'string',
    valueName: 'file',
    description:
      "how to reach the API server; in a pod its service account, elsewhere kubectl's when absent",
  },
  watchNamespaces: {
    type: 'string',
    valueName: 'names',
    description: 'namespaces to look after, separated by commas; all when absent',
  },
  operandImage: {
    type: 'string',
    required: true,
    valueName: 'image',
    description: 'image of the syncers and verifiers whose resource names none',
  },
  operandImages: {
    type: 'string',
    valueName: 'names',
    description:
      'registries, repositories and images, separated by commas, of which a resource may name one in place of that; none when absent',
  },
  operandEgress: {
    type: 'string',
    valueName: 'json',
    description:
      'whom syncers and verifiers may reach beside name servers, as a list of peers of a NetworkPolicy; everybody when absent',
  },
  operandImagePullPolicy: {
    type: 'string',
    default: 'IfNotPresent',
    choices: ['Always', 'IfNotPresent', 'Never'],
    description: 'pull policy of the operands whose resource names none',
  },
  leaderElect: {
    type: 'boolean',
    default: true,
    description: 'works only while holding the Lease, so that several operators may run',
  },
  leaseDurationSeconds: {
    type: 'integer',
    default: 15,
    range: [3, 3_600],
    description:
      'time after which another operator takes over from one that has died; one that cannot renew the Lease gives up before',
  },
  leaseName: { type: 'string', default: 'clustersync-operator', description: 'name of the Lease' },
  leaseNamespace: {
    type: 'string',
    default: 'default',
    description: 'namespace of the Leases, and of the Secret of `apiKeySecret`',
  },
  apiKeySecret: {
    type: 'string',
    default: 'clustersync-operator-api-key',
    description:
      'name of the Secret with the key that the API tokens of syncers and verifiers are derived with; it must be there, and is filled where it is empty',
  },
  port: {
    type: 'integer',
    default: 8080,
    range: [0, 65_535],
    description: 'port of /healthz, /readyz and /metrics; 0 for any free one',
  },
  ...hostOption,
  dashboard: {
    type: 'boolean',
    default: false,
    description: 'serves the dashboard: a page that shows all syncs, and changes nothing',
  },
  dashboardPort: {
    type: 'integer',
    default: 8081,
    range: [0, 65_535],
    description: 'port of the dashboard; 0 for any free one',
  },
  dashboardHost: {
    type: 'string',
    default: '127.0.0.1',
    description:
      'address that the dashboard listens on; for any but one of the loopback network it needs `dashboardToken`',
  },
  dashboardToken: {
    type: 'string',
    secret: true,
    valueName: 'token',
    description: 'what people have to give to see anything in the dashboard',
  },
  ...logOptions,
  ...configOption,
} as const satisfies OptionTable;

export type OperatorOptions = Options<typeof operatorOptionTable>;

/** The names in an option that takes several, separated by commas. */
export function namesIn(list: string | undefined): string[] {
  const names = (list ?? '').split(',').map((name) => name.trim());
  return names.filter((name) => name !== '');
}
