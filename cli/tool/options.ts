import { outputFormats } from '../render/formats.ts';
import type { Options, OptionTable } from '../../service/options.ts';

const api = {
  url: {
    type: 'string',
    default: 'http://localhost:27182',
    valueName: 'urls',
    description: 'where the syncer listens; of several instances all, separated by commas',
  },
  apiToken: {
    type: 'string',
    secret: true,
    valueName: 'token',
    description: 'bearer token that the API asks for',
  },
  caFile: {
    type: 'string',
    valueName: 'file',
    description: "PEM file with the authority of an https URL; the system's when absent",
  },
  tlsServerName: {
    type: 'string',
    valueName: 'name',
    description: 'name that the certificate of an https URL is for; that in the URL when absent',
  },
  output: {
    type: 'string',
    default: 'text',
    choices: outputFormats,
    valueName: 'form',
    description: 'form of what is told',
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
    description: 'wait until that is done, and show how far it is',
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
      'what becomes of the destination: it stays as it is; users may write again where the sync has blocked them; that, and what the sync has made is dropped',
  },
} as const satisfies OptionTable;

/** The options of `clustersync progress`. */
export const progressOptionTable = {
  ...api,
  watch: {
    type: 'boolean',
    default: false,
    description: 'show it again and again, until the sync is committed',
  },
} as const satisfies OptionTable;

/** The options of `clustersync report`. */
export const reportOptionTable = {
  ...api,
  url: {
    type: 'string',
    default: 'http://localhost:27020',
    valueName: 'url',
    description: 'where the verifier listens',
  },
} as const satisfies OptionTable;

/** The options that say where a tool is, and by what it is known. */
export type ApiOptions = Pick<StatusOptions, 'url' | 'apiToken' | 'caFile' | 'tlsServerName'>;

export type StatusOptions = Options<typeof statusOptionTable>;
export type CommandOptions = Options<typeof commandOptionTable>;
export type ResetOptions = Options<typeof resetOptionTable>;
export type ProgressOptions = Options<typeof progressOptionTable>;
export type ReportOptions = Options<typeof reportOptionTable>;
