import { connectionFileOptions } from '../../mongo/connection-options.ts';
import { connectionOptions } from '../../mongo/connection.ts';
import { SyncError } from '../../service/errors.ts';
import { apiOptions } from '../../service/listening.ts';
import { logOptions } from '../../service/logger.ts';
import type { FittedConcurrency } from './copy-concurrency.ts';
import { configOption, type Options, type OptionTable } from '../../service/options.ts';
import { syncerWorkOptions } from '../../sync-api/work-options.ts';

/** The options of `clustersync syncer`. */
export const syncerOptionTable = {
  cluster0: {
    type: 'string',
    required: true,
    secret: true,
    valueName: 'uri',
    description: 'connection string of cluster0',
  },
  cluster1: {
    type: 'string',
    required: true,
    secret: true,
    valueName: 'uri',
    description: 'connection string of cluster1',
  },
  ...connectionOptions('cluster0', 'cluster0'),
  ...connectionOptions('cluster1', 'cluster1'),
  id: {
    type: 'string',
    default: 'syncer',
    valueName: 'name',
    description:
      'name of this instance; if it is the id of a shard of the source, the sync has one instance per shard',
  },
  ids: {
    type: 'string',
    valueName: 'names',
    description:
      'instead of --id: the names of all instances that work on the sync, separated by commas, the same for each; --instance selects this one, and the first gets --preferCoordinator',
  },
  instance: {
    type: 'integer',
    range: [0, 9_999],
    description: 'index of this instance in --ids, from 0',
  },
  preferCoordinator: {
    type: 'boolean',
    default: false,
    description: 'gives this instance priority for the coordinator lease when it is free',
  },
  continues: {
    type: 'string',
    default: 'any',
    valueName: 'digest',
    description:
      'stored sync that the process resumes on startup: any, none, or the one with this options digest',
  },
  ...apiOptions(27182),
  ...connectionFileOptions,
  ...logOptions,
  ...syncerWorkOptions,
  partitionMebibytes: {
    type: 'number',
    default: 64,
    range: [0.001, 1_048_576],
    description:
      'size in MiB above which a collection is copied in partitions, and its new indexes are built while changes are applied',
  },
  ...configOption,
} as const satisfies OptionTable;

export type SyncerOptions = Options<typeof syncerOptionTable>;

/**
 * The options of one instance, from a command line with those of several: all instances can share it.
 * @throws SyncError InvalidOption if `--continues` names no sync, only one of `--ids` and `--instance` is given, `--instance` is not
 * an index in `--ids`, or a name is listed twice, is empty, or has space around it.
 */
export function optionsOfInstance(options: SyncerOptions): SyncerOptions {
  const { instance, continues } = options;
  if (!['any', 'none'].includes(continues) && !/^[0-9a-f]{64}$/.test(continues))
    throw new SyncError(
      'InvalidOption',
      `--continues: expected any, none, or the options digest of a sync (64 hexadecimal digits in lower case), not ${JSON.stringify(continues)}`,
    );
  const ids = listedIds(options);
  if (ids === undefined) {
    if (instance === undefined) return options;
    throw new SyncError('InvalidOption', '--instance: it is an index in --ids, which is missing');
  }
  const noName = ids.find((one) => one === '' || one !== one.trim());
  if (noName !== undefined)
    throw new SyncError(
      'InvalidOption',
      `--ids: ${JSON.stringify(noName)} is not a name: a name has at least one character, and no leading or trailing space`,
    );
  const twice = ids.find((one, index) => ids.indexOf(one) < index);
  if (twice !== undefined)
    throw new SyncError('InvalidOption', `--ids: ${JSON.stringify(twice)} is listed twice`);
  const id = instance === undefined ? undefined : ids[instance];
  if (id === undefined) {
    const place = instance === undefined ? 'none was given' : `not ${instance}`;
    throw new SyncError('InvalidOption', `--instance: an index in --ids is required, ${place}`);
  }
  return { ...options, id, preferCoordinator: options.preferCoordinator || instance === 0 };
}

/** The names of all instances of the sync; undefined if the command line has only that of this one. */
export function listedIds({ ids }: Pick<SyncerOptions, 'ids'>): readonly string[] | undefined {
  return ids?.split(',');
}

/** Options that set how hard the syncer works. */
export type SyncerTuning = Pick<SyncerOptions, 'partitionMebibytes' | 'applyWorkers'> &
  FittedConcurrency;
