import { outputFormats } from '../render/formats.ts';
import type { Options, OptionTable } from '../../service/options.ts';

const api = {
  url: {
    type: 'string',
    default: 'http://localhost:27182',
    valueName: 'urls',
    description: 'URL of the syncer; with several instances, all URLs separated by commas',
  },
  apiToken: {
    type: 'string',
    secret: true,
    valueName: 'token',
    description: 'bearer token for the API',
  },
  caFile: {
    type: 'string',
    valueName: 'file',
    description: "PEM file with the authority of an https URL; the system's when absent",
  },
  tlsServerName: {
    type: 'string',
    valueName: 'name',
    description: 'name in the certificate of an https URL; by default the host of the URL',
  },
  output: {
    type: 'string',
    default: 'text',
    choices: outputFormats,
    valueName: 'form',
    description: 'output format',
  },
} as const satisfies OptionTable;

/** The options of `clustersync status`, `pause` and `resume`. */
export const statusOptionTable = api;

/** The options of `clustersync commit` and `reverse`. */
export const commandOptionTable = {
  ...api,
  wait: {
    type: 'boolean',
    default: false,
    description: 'wait until it is done, and show progress',
  },
} as const satisfies OptionTable;

/** The options of `clustersync reset`. */
export const resetOptionTable = {
  ...commandOptionTable,
  destination: {
    type: 'string',
    default: 'Keep',
    choices: ['Keep', 'Unblock', 'Clean'],
    valueName: 'what',
    description:
      'what to do with the destination: leave it as it is; lift write blocking that the sync has set; that, and drop what the sync has created',
  },
} as const satisfies OptionTable;

/** The options of `clustersync progress`. */
export const progressOptionTable = {
  ...api,
  watch: {
    type: 'boolean',
    default: false,
    description: 'keep showing progress until the sync is committed',
  },
} as const satisfies OptionTable;

/** The options of `clustersync report`. */
export const reportOptionTable = {
  ...api,
  url: {
    type: 'string',
    default: 'http://localhost:27020',
    valueName: 'url',
    description: 'URL of the verifier',
  },
} as const satisfies OptionTable;

/** The options for the address and the credentials of a tool. */
export type ApiOptions = Pick<StatusOptions, 'url' | 'apiToken' | 'caFile' | 'tlsServerName'>;

export type StatusOptions = Options<typeof statusOptionTable>;
export type CommandOptions = Options<typeof commandOptionTable>;
export type ResetOptions = Options<typeof resetOptionTable>;
export type ProgressOptions = Options<typeof progressOptionTable>;
export type ReportOptions = Options<typeof reportOptionTable>;
