import { optionsDigestHeader } from '../../sync-api/headers.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import type { Command } from '../operand/monitor.ts';
import { isCurrent, maySend, type Observation } from '../operand/observation.ts';
import { isFailureOfOtherSync, isOfOtherSync, wantedDigest } from './identity.ts';
import type { InstanceView } from './instance-causes.ts';
import { isCommittedIn, mayBegin } from './on-record.ts';
import type { ResetDestination } from './reset.ts';
import { startBody } from './resources.ts';
import type { SourceFinding } from './source.ts';
import { isAtLeast, isTheOtherWay, lackingCommit, stageOf } from './stage.ts';
import type { SyncerCommand, SyncerProgress } from './syncer-client.ts';

/** A command to one instance. */
export interface InstanceCommand {
  readonly id: string;
  readonly command: Command<SyncerCommand>;
}

/** What the commands depend on, apart from the resource. */
export interface CommandInput {
  readonly views: readonly InstanceView[];
  readonly source: SourceFinding;
  /** Whether a commit is asked for, and an automatic one, or one while workloads are held, is ready to be sent. */
  readonly isCommitDue: boolean;
  /** Whether a repair is requested: it comes before a commit. */
  readonly isRepairAwaited: boolean;
  readonly nowMs: number;
}

/** What to send now, to all instances at the same time. */
export function commandsOf(
  clusterSync: ClusterSync,
  { views, source, isCommitDue, isRepairAwaited, nowMs }: CommandInput,
): InstanceCommand[] {
  const { state, direction } = clusterSync.spec;
  if (isCommittedIn(clusterSync)) return [];
  const digest = wantedDigest(clusterSync);
  // Even an old answer counts: all instances have the same sync.
  const isOther = ({ observation }: InstanceView): boolean =>
    isOfOtherSync(lastProgressOf(observation), digest) || isFailureOfOtherSync(observation, digest);
  if (views.some(isOther)) return [];
  const wanted = { direction, digest };
  const headers = { [optionsDigestHeader]: digest };
  const progresses = views.map(({ observation }) => observation && progressOf(observation, nowMs));
  const calls = (name: keyof typeof callingState, body: object = {}) =>
    views.flatMap(({ instance, observation }, index): InstanceCommand[] => {
      const progress = progresses[index];
      if (!observation || progress?.state !== callingState[name]) return [];
      if (name === 'reverse' && !isTheOtherWay(progress, direction)) return [];
      if (name === 'commit' && lacking.length > 0 && !lacking.includes(progress)) return [];
      if (!maySend(observation, name, nowMs)) return [];
      return [{ id: instance.id, command: { name, body, headers } }];
    });
  const isCommitting = progresses.some((progress) =>
    isAtLeast(stageOf(progress, wanted), 'committing'),
  );
  const lacking = lackingCommit(progresses, wanted);
  // A commit that some instances have accepted is not taken back: the others would never get there.
  if (state === 'Paused' && !isCommitting && lacking.length === 0) return calls('pause');
  if (source.cause) return [];
  const canCommit = progresses.every(
    (progress) => progress?.canCommit && !isTheOtherWay(progress, direction),
  );
  const isWanted = isCommitDue && !isRepairAwaited;
  const isCommitCalledFor =
    isCommitting || lacking.length > 0 || (isWanted && canCommit && source.isConfirmed);
  // All are to be started at the same time, so missing ones are waited for.
  const areAllThere = progresses.every((progress) => progress !== undefined);
  return [
    // Never again over data that is in use: neither by accident nor after the metadata database was lost.
    ...(areAllThere && mayBegin(clusterSync) ? calls('start', startBody(clusterSync)) : []),
    // Only what is committed as a whole is reversed.
    ...(areAllThere && lacking.length === 0 ? calls('reverse') : []),
    ...calls('resume'),
    ...(isCommitCalledFor ? calls('commit') : []),
  ];
}

/** The state in which an instance accepts a command. */
const callingState: Record<Exclude<SyncerCommand, 'repair' | 'limits' | 'reset'>, string> = {
  start: 'IDLE',
  pause: 'RUNNING',
  resume: 'PAUSED',
  commit: 'RUNNING',
  reverse: 'COMMITTED',
};

/**
 * Tells each instance that the sync ends, including one that knows of no sync yet or reports an error, until none knows of one.
 * @param digest - of the sync that ends; undefined for any sync.
 */
export function resetCommands(
  views: readonly InstanceView[],
  { destination, digest }: { readonly destination: ResetDestination; readonly digest?: string },
  nowMs: number,
): InstanceCommand[] {
  const headers = digest === undefined ? {} : { [optionsDigestHeader]: digest };
  return views.flatMap(({ instance, observation }): InstanceCommand[] => {
    if (!observation?.answer || !maySend(observation, 'reset', nowMs)) return [];
    return [{ id: instance.id, command: { name: 'reset', body: { destination }, headers } }];
  });
}

function progressOf(
  observation: Observation<SyncerProgress, SyncerCommand>,
  nowMs: number,
): SyncerProgress | undefined {
  return isCurrent(observation, nowMs) ? lastProgressOf(observation) : undefined;
}

function lastProgressOf(observation: InstanceView['observation']): SyncerProgress | undefined {
  return observation?.answer?.kind === 'progress' ? observation.answer.progress : undefined;
}
