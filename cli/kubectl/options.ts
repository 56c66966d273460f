import { outputFormats } from '../render/formats.ts';
import type { Options, OptionTable } from '../../service/options.ts';

const cluster = {
  namespace: { type: 'string', description: 'namespace; that of the context when absent' },
  context: { type: 'string', valueName: 'name', description: 'context of the kubeconfig' },
  kubeconfig: { type: 'string', valueName: 'file', description: 'kubeconfig, as kubectl has it' },
} as const satisfies OptionTable;

const output = {
  type: 'string',
  default: 'text',
  choices: outputFormats,
  valueName: 'form',
  description: 'form of what is told',
} as const;

/** The options of what changes or follows one sync. */
export const clusterOptionTable = cluster;

export const listOptionTable = {
  ...cluster,
  allNamespaces: { type: 'boolean', default: false, description: 'of all namespaces' },
  output,
} as const satisfies OptionTable;

export const syncStatusOptionTable = { ...cluster, output } as const satisfies OptionTable;

export const logsOptionTable = {
  ...cluster,
  follow: {
    type: 'boolean',
    default: false,
    description: 'keep showing what is logged from now on, by up to 32 pods',
  },
} as const satisfies OptionTable;

export type ClusterOptions = Options<typeof clusterOptionTable>;
export type ListOptions = Options<typeof listOptionTable>;
export type SyncStatusOptions = Options<typeof syncStatusOptionTable>;
export type LogsOptions = Options<typeof logsOptionTable>;
