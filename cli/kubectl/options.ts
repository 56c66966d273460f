import { outputFormats } from '../render/formats.ts';
import type { Options, OptionTable } from '../../service/options.ts';

const cluster = {
  namespace: {
    type: 'string',
    short: 'n',
    description: 'namespace; by default that of the context',
  },
  context: { type: 'string', valueName: 'name', description: 'context of the kubeconfig' },
  kubeconfig: { type: 'string', valueName: 'file', description: 'kubeconfig, as for kubectl' },
} as const satisfies OptionTable;

const output = {
  type: 'string',
  default: 'text',
  choices: outputFormats,
  valueName: 'form',
  description: 'output format',
} as const;

/** The options of commands that change or follow one sync. */
export const clusterOptionTable = cluster;

/** The options of `kubectl clustersync commit`. */
export const commitOptionTable = {
  ...cluster,
  yes: {
    type: 'boolean',
    short: 'y',
    default: false,
    description: 'commit without asking for confirmation',
  },
  wait: {
    type: 'boolean',
    default: false,
    description: 'wait until it is committed, and show progress',
  },
  timeoutSeconds: {
    type: 'integer',
    range: [1, 604_800],
    valueName: 'seconds',
    description:
      'with --wait: fail if it takes longer than this; by default it waits without limit',
  },
} as const satisfies OptionTable;

/** The options of `kubectl clustersync repair`. */
export const repairOptionTable = {
  ...cluster,
  comparison: {
    type: 'string',
    default: 'hashes',
    choices: ['hashes', 'bytes'],
    description:
      'how to compare documents: by hashes that the servers compute, or byte for byte, which reads all documents of both sides',
  },
} as const satisfies OptionTable;

export const listOptionTable = {
  ...cluster,
  allNamespaces: {
    type: 'boolean',
    short: 'A',
    default: false,
    description: 'of all namespaces',
  },
  output,
} as const satisfies OptionTable;

export const syncStatusOptionTable = { ...cluster, output } as const satisfies OptionTable;

export const logsOptionTable = {
  ...cluster,
  follow: {
    type: 'boolean',
    default: false,
    description: 'follow the logs, of up to 32 pods',
  },
} as const satisfies OptionTable;

export type ClusterOptions = Options<typeof clusterOptionTable>;
export type CommitOptions = Options<typeof commitOptionTable>;
export type RepairOptions = Options<typeof repairOptionTable>;
export type ListOptions = Options<typeof listOptionTable>;
export type SyncStatusOptions = Options<typeof syncStatusOptionTable>;
export type LogsOptions = Options<typeof logsOptionTable>;
