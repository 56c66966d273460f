import { outputFormats } from '../render/formats.ts';
import { configOption, type Options, type OptionTable } from '../../service/options.ts';

/** The options of `clustersync run`. */
export const runOptionTable = {
  source: {
    type: 'string',
    required: true,
    secret: true,
    valueName: 'uri',
    description: 'connection string of the deployment to move',
  },
  destination: {
    type: 'string',
    required: true,
    secret: true,
    valueName: 'uri',
    description: 'connection string of the empty deployment to move it to',
  },
  dryRun: {
    type: 'boolean',
    default: false,
    description: 'check everything, say what would be done, and change nothing',
  },
  commitWhenCaughtUp: {
    type: 'boolean',
    default: false,
    description: 'commit without asking as soon as the destination has caught up',
  },
  maxLagSeconds: {
    type: 'integer',
    default: 15,
    range: [0, 86_400],
    description: 'lag up to which the destination counts as caught up',
  },
  verify: {
    type: 'boolean',
    default: true,
    description: 'compare both sides beside the sync and after the commit',
  },
  includeNamespaces: {
    type: 'string',
    valueName: 'list',
    description:
      'what to move: databases and collections separated by commas (shop,depot.orders), or JSON as in the HTTP API',
  },
  excludeNamespaces: {
    type: 'string',
    valueName: 'list',
    description: 'what to leave out of that, in the same form',
  },
  shardingFile: {
    type: 'string',
    valueName: 'file',
    description:
      'JSON or YAML file with `sharding` as in the HTTP API; needed from a replica set to a sharded cluster',
  },
  buildIndexes: {
    type: 'string',
    default: 'beforeDataCopy',
    valueName: 'when',
    choices: ['beforeDataCopy', 'afterDataCopy', 'never'],
    description: 'when indexes are built on the destination',
  },
  enableUserWriteBlocking: {
    type: 'boolean',
    default: false,
    description:
      'block writes of ordinary users: on the destination until the commit, on the source from then on',
  },
  reversible: {
    type: 'boolean',
    default: false,
    description: 'prepare the sync for being reversed after its commit',
  },
  output: {
    type: 'string',
    default: 'text',
    choices: outputFormats,
    valueName: 'form',
    description: 'form of the summary on standard output',
  },
  web: {
    type: 'integer',
    preset: 8081,
    range: [0, 65_535],
    valueName: 'port',
    description:
      'serve a page that shows all this in a browser, at this port of the loopback interface; 0 for any free one',
  },
  logFile: {
    type: 'string',
    valueName: 'file',
    description: 'append what the syncer and the verifier log to this file',
  },
  ...configOption,
} as const satisfies OptionTable;

export type RunOptions = Options<typeof runOptionTable>;
