import { connectionFileOptions } from '../mongo/connection-options.ts';
import { connectionOptions } from '../mongo/connection.ts';
import { apiOptions } from '../service/listening.ts';
import { logOptions } from '../service/logger.ts';
import { configOption, type Options, type OptionTable } from '../service/options.ts';
import { readLimitOption, readPreferences } from '../sync-api/work-options.ts';

/** The options of `clustersync verifier`. */
export const verifierOptionTable = {
  srcURI: {
    type: 'string',
    required: true,
    secret: true,
    valueName: 'uri',
    description: 'connection string of the source',
  },
  destURI: {
    type: 'string',
    required: true,
    secret: true,
    valueName: 'uri',
    description: 'connection string of the destination',
  },
  metaURI: {
    type: 'string',
    secret: true,
    valueName: 'uri',
    description: 'connection string of the metadata store; by default the destination',
  },
  ...connectionOptions('src', 'the source'),
  ...connectionOptions('dest', 'the destination'),
  ...connectionOptions('meta', 'the metadata store'),
  verifyAll: {
    type: 'boolean',
    default: false,
    description: 'compare all user databases instead of what the sync on the destination selects',
  },
  includeNamespaces: {
    type: 'string',
    valueName: 'json',
    description: "namespaces to compare, in the form of the syncer's includeNamespaces",
  },
  excludeNamespaces: {
    type: 'string',
    valueName: 'json',
    description: "namespaces to leave out, in the form of the syncer's excludeNamespaces",
  },
  verification: {
    type: 'string',
    default: 'verification',
    description: 'name of the verification in the metadata store',
  },
  attempt: {
    type: 'integer',
    default: 0,
    range: [0, Number.MAX_SAFE_INTEGER],
    description:
      'attempt number of the verification: a higher one than recorded starts the verification over, once, whatever the results; a lower one is refused',
  },
  id: {
    type: 'string',
    description: 'name of this process among those of the verification; by default the host name',
  },
  clean: {
    type: 'boolean',
    default: false,
    description:
      'delete everything that the metadata store holds of the verification, and start over',
  },
  comparison: {
    type: 'string',
    default: 'bytes',
    choices: ['bytes', 'hashes'],
    description:
      'compare documents byte for byte, or by hashes that the servers compute, so that only documents that differ cross the network',
  },
  reportValues: {
    type: 'boolean',
    default: false,
    description: 'include differing values in the API and in reports',
  },
  ...apiOptions(27020),
  ...connectionFileOptions,
  workers: {
    type: 'integer',
    default: 4,
    range: [1, 100],
    description: 'collections and _id ranges compared in parallel',
  },
  partitionMebibytes: {
    type: 'number',
    default: 64,
    range: [0.001, 1_048_576],
    description: 'size in MiB above which a collection is compared in partitions',
  },
  maxBytesPerSecond: readLimitOption,
  readPreference: {
    type: 'string',
    default: 'primary',
    choices: readPreferences,
    description: 'members to read documents from',
  },
  ...logOptions,
  ...configOption,
} as const satisfies OptionTable;

export type VerifierOptions = Options<typeof verifierOptionTable>;
