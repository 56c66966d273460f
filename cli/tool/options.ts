import { outputFormats } from '../render/formats.ts';
import type { Options, OptionTable } from '../../service/options.ts';
import { SyncError } from '../../service/errors.ts';
import { readTextFile } from '../../service/text-file.ts';
import type { ServerTrust } from '../../service/http-request.ts';
import type { ApiAddress } from '../api/api-client.ts';
import { limitFlags } from '../limit-flags.ts';

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
    description: 'PEM file with the authority of an https URL; by default those of the system',
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

/** The options of `clustersync repair`. */
export const repairOptionTable = {
  ...commandOptionTable,
  comparison: {
    type: 'string',
    default: 'hashes',
    choices: ['hashes', 'bytes'],
    description:
      'how to compare documents: by hashes that the servers compute, or byte for byte, which reads all documents of both sides',
  },
} as const satisfies OptionTable;

/** The options of `clustersync limits`. */
export const limitsOptionTable = {
  ...api,
  ...limitFlags,
  none: { type: 'boolean', default: false, description: 'lift all limits' },
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
      'what to do with the destination: leave it unchanged; lift the write blocking of the sync; or also drop what the sync has created',
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
export type RepairOptions = Options<typeof repairOptionTable>;
export type LimitsOptions = Options<typeof limitsOptionTable>;
export type ResetOptions = Options<typeof resetOptionTable>;
export type ProgressOptions = Options<typeof progressOptionTable>;
export type ReportOptions = Options<typeof reportOptionTable>;

/**
 * The addresses in `--url`: one, or several separated by commas.
 * @throws SyncError InvalidOption for a value that is not an HTTP URL, and for a file that cannot be read.
 */
export function addressesOf({ url: urls, apiToken, ...https }: ApiOptions): ApiAddress[] {
  const trust = trustOf(https);
  return urls.split(',').map((text) => {
    const url = URL.parse(text.trim());
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
      throw new SyncError(
        'InvalidOption',
        `--url: expected a URL, such as http://localhost:27182, not ${JSON.stringify(text.trim())}`,
      );
    }
    if (trust && url.protocol === 'http:') {
      throw new SyncError(
        'InvalidOption',
        `--ca-file and --tls-server-name apply to https, not to ${url.origin}`,
      );
    }
    return { url: `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, '')}`, apiToken, trust };
  });
}

function trustOf({
  caFile,
  tlsServerName: serverName,
}: Pick<ApiOptions, 'caFile' | 'tlsServerName'>): ServerTrust | undefined {
  if (caFile === undefined && serverName === undefined) return undefined;
  return {
    authority:
      caFile === undefined ? undefined : readTextFile({ path: caFile, option: '--ca-file' }),
    serverName,
  };
}
