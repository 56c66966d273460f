import { logLevels } from '../service/logger.ts';
import type { Options, OptionTable } from '../service/options.ts';

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
    description: 'connection string of the metadata store; the destination when absent',
  },
  verifyAll: {
    type: 'boolean',
    default: false,
    description: 'compare all user databases; otherwise what the sync on the destination selects',
  },
  port: {
    type: 'integer',
    default: 27020,
    range: [0, 65_535],
    description: 'HTTP port; 0 for any free one',
  },
  host: { type: 'string', default: '127.0.0.1', description: 'address to listen on' },
  apiToken: {
    type: 'string',
    secret: true,
    valueName: 'token',
    description: 'bearer token that the API asks for; none when absent',
  },
  workers: {
    type: 'integer',
    default: 4,
    range: [1, 100],
    description: 'collections and ranges of _id compared side by side',
  },
  logLevel: {
    type: 'string',
    default: 'info',
    choices: logLevels,
    description: 'how much is logged',
  },
  config: { type: 'string', valueName: 'file', description: 'YAML file with options' },
} as const satisfies OptionTable;

export type VerifierOptions = Options<typeof verifierOptionTable>;
