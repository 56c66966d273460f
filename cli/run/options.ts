import { connectionOptions } from '../../mongo/connection.ts';
import { outputFormats } from '../render/formats.ts';
import { configOption, type Options, type OptionTable } from '../../service/options.ts';
import { readerGoneExitCode } from '../../service/terminal.ts';
import { limitFlags } from '../limit-flags.ts';
import {
  readLimitOption,
  readPreferences,
  syncerWorkOptions,
} from '../../sync-api/work-options.ts';
import { startFlags } from './start-body.ts';

const deployments = {
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
      'connection string of the deployment to move to, which must be empty unless --initial-data is Present',
  },
  ...connectionOptions('source', 'the source'),
  ...connectionOptions('destination', 'the destination'),
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
} as const satisfies OptionTable;

/** How the programs of a migration work: given to them under their own names for it. */
const work = {
  ...syncerWorkOptions,
  verifierMaxBytesPerSecond: {
    ...readLimitOption,
    range: [1_048_576, Number.MAX_SAFE_INTEGER],
    description:
      'limit in bytes per second of documents that the verification reads, both sides together, until the verdict; unlimited by default',
  },
  verifierReadPreference: {
    type: 'string',
    choices: readPreferences,
    description: 'members that the verification reads documents from; primary by default',
  },
} as const satisfies OptionTable;

const presentation = {
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

/** The options of `clustersync run`. */
export const runOptionTable = {
  ...deployments,
  ...startFlags,
  ...limitFlags,
  ...work,
  ...presentation,
};

/** Where the deployments are, and how they are reached. */
export type DeploymentOptions = Options<typeof deployments>;

/** What the programs of a migration are started with. */
export type ProgramOptions = DeploymentOptions & Options<typeof work>;

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
  /** Not committed, and paused: the verification has found differences, and they remain. */
  differencesRemain: 4,
  /** Ended by Ctrl-C or SIGTERM, and paused. */
  interrupted: 130,
  /** The summary could not be written. */
  readerGone: readerGoneExitCode,
} as const;
