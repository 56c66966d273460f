import { outputFormats } from '../render/formats.ts';
import { configOption, type Options, type OptionTable } from '../../service/options.ts';
import { readerGoneExitCode } from '../../service/terminal.ts';

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
    description:
      'connection string of the deployment to move it to: empty, unless --initial-data is Present',
  },
  dryRun: {
    type: 'boolean',
    default: false,
    description: 'check everything, show the plan, and change nothing',
  },
  commitWhenCaughtUp: {
    type: 'boolean',
    default: false,
    description: 'commit without confirmation once the destination has caught up',
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
    description: 'compare both sides during the sync and after the commit',
  },
  includeNamespaces: {
    type: 'string',
    valueName: 'list',
    description:
      'namespaces to sync: databases and collections separated by commas (shop,depot.orders), or JSON as in the HTTP API',
  },
  excludeNamespaces: {
    type: 'string',
    valueName: 'list',
    description: 'namespaces to exclude, in the same form',
  },
  shardingFile: {
    type: 'string',
    valueName: 'file',
    description:
      'JSON or YAML file with `sharding` as in the HTTP API; required from a replica set to a sharded cluster',
  },
  initialData: {
    type: 'string',
    default: 'Absent',
    valueName: 'what',
    choices: ['Absent', 'Present'],
    description:
      'whether the destination already has a copy of the data, such as a restored backup. Present: what differs is replaced there, and what the source does not have is deleted',
  },
  buildIndexes: {
    type: 'string',
    default: 'beforeDataCopy',
    valueName: 'when',
    choices: ['beforeDataCopy', 'afterDataCopy', 'never'],
    description: 'when to build indexes on the destination',
  },
  enableUserWriteBlocking: {
    type: 'boolean',
    default: false,
    description:
      'block writes by ordinary users: on the destination until the commit, on the source from then on',
  },
  reversible: {
    type: 'boolean',
    default: false,
    description: 'allow the sync to be reversed after its commit',
  },
  detectDuplicateIds: {
    type: 'boolean',
    default: false,
    description:
      'from a sharded cluster to a replica set: search for documents of one _id on different shards first',
  },
  output: {
    type: 'string',
    default: 'text',
    choices: outputFormats,
    valueName: 'form',
    description: 'format of the summary on standard output',
  },
  web: {
    type: 'integer',
    preset: 8081,
    range: [0, 65_535],
    valueName: 'port',
    description:
      'serve a page with the progress on this port of the loopback interface; 0 for any free port',
  },
  logFile: {
    type: 'string',
    valueName: 'file',
    description: 'append the logs of syncer and verifier to this file',
  },
  ...configOption,
} as const satisfies OptionTable;

export type RunOptions = Options<typeof runOptionTable>;

/** The exit codes of `clustersync run`. */
export const runExitCode = {
  /** Committed and, if requested, verified: both sides are equal. With --dry-run: nothing prevents the start. */
  done: 0,
  /** Committed, and the verification has found differences. */
  different: 1,
  /** Failed: standard error says why. */
  failed: 2,
  /** Caught up and paused: there was nobody to ask whether to commit. */
  notCommitted: 3,
  /** Ended by Ctrl-C or SIGTERM, and paused. */
  interrupted: 130,
  /** The summary could not be written. */
  readerGone: readerGoneExitCode,
} as const;
