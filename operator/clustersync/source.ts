import type { ClusterSync } from '../api/clustersync.ts';
import { isConditionTrue } from '../kube/conditions.ts';
import { shortened } from '../../service/errors.ts';
import { apiErrorCause } from '../operand/api-causes.ts';
import { reasonFor, type ApiError } from '../operand/http-api.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';
import { isLetGo } from './on-record.ts';
import { listed, type SourceShape } from './resources.ts';
import type { SourceView } from './source-topologies.ts';

/** What is made of a source. */
export interface SourceFinding {
  /** For the status: what it was when it was first seen. */
  readonly source: SourceShape | undefined;
  /** Why there are no instances yet, or, where there are, why the sync must not go on. */
  readonly cause: ConditionCause | undefined;
  /** Whether it is known that its shards are still the same: if not, something could be missing in what is committed. */
  readonly isConfirmed: boolean;
}

/** As many as the status has room for. */
const maxShards = 256;
/** So many characters of a name. */
const maxNameLength = 256;
/** Names that a list separated by commas can hold, as an argument of a container. */
const usableName = /^[^\s,$]+$/;
/** So much of a name is said that is not usable. */
const shownNameLength = 100;

/**
 * Whether a syncer is to be asked what the source is: as long as nothing depends on the answer, it is not. What can have no other shards
 * is asked for once.
 */
export function isSourceAsked(clusterSync: ClusterSync): boolean {
  const { metadata, status } = clusterSync;
  // Who is to be told that the sync ends, that has to be known.
  if (metadata.deletionTimestamp !== undefined)
    return status?.source === undefined && !isLetGo(clusterSync);
  if (isConditionTrue(status?.conditions, 'Committed')) return false;
  return status?.source === undefined || status.source.kind === 'Sharded';
}

/**
 * What follows from what is known of a source. What it was at first stays: that it cannot be reached later changes
 * nothing, and instances are never added to a sync that may have begun, nor taken away.
 * @param known - from the status.
 */
export function findingOf(known: SourceShape | undefined, view: SourceView): SourceFinding {
  if (!known) return firstFindingOf(view);
  const cause = view.kind === 'found' ? drift(known, view.source) : undefined;
  const isConfirmed =
    known.kind !== 'Sharded' || (view.kind === 'found' && view.isOld !== true && !cause);
  return { source: known, cause, isConfirmed };
}

function firstFindingOf(view: SourceView): SourceFinding {
  const nothing = { source: undefined, isConfirmed: false };
  switch (view.kind) {
    case 'unknown':
    // What is said of that, is said of the instance.
    case 'silent':
      return { ...nothing, cause: waiting('asking the first pod for the shards of the source') };
    case 'refused': {
      const message = `the Secret of the source: ${view.error.description}`;
      const reason = reasonFor(view.error.name);
      return { ...nothing, cause: { reason, message, level: 'stalled' } };
    }
    case 'failed':
      return { ...nothing, cause: topologyErrorCause(view.error) };
    case 'found': {
      const { source } = view;
      const unusable = unusableIn(source);
      if (unusable) return { ...nothing, cause: unusable };
      return { source, cause: waiting('the pods are about to be created'), isConfirmed: true };
    }
  }
}

function topologyErrorCause(error: ApiError): ConditionCause {
  const cause = apiErrorCause(error, 'querying the shards of the source failed with');
  return cause.level === 'waiting' ? { ...cause, level: 'warning' } : cause;
}

function waiting(message: string): ConditionCause {
  return { reason: 'PodPending', message, level: 'waiting' };
}

/** What the status has no room for, or no pod can be called by. */
function unusableIn({ kind, shards }: SourceShape): ConditionCause | undefined {
  const unsupported = (message: string): ConditionCause => {
    return { reason: 'SourceNotSupported', message, level: 'stalled' };
  };
  const isSharded = kind === 'Sharded';
  if (isSharded && shards.length === 0) return unsupported('the source has no shards');
  if (shards.length > maxShards) {
    return unsupported(
      `the source has ${shards.length} shards: at most ${maxShards} can be synced`,
    );
  }
  const called = (name: string): string =>
    `the source has a shard named ${JSON.stringify(shortened(name, shownNameLength))}`;
  const long = shards.find((shard) => shard.length > maxNameLength);
  if (long !== undefined)
    return unsupported(
      `${called(long)}: names of more than ${maxNameLength} characters are not supported`,
    );
  const twice = shards.find((shard, index) => shards.indexOf(shard) < index);
  if (twice !== undefined) return unsupported(`${called(twice)} twice`);
  const name = isSharded ? shards.find((shard) => !usableName.test(shard)) : undefined;
  return name === undefined
    ? undefined
    : unsupported(`${called(name)}: names with commas, spaces or dollar signs are not supported`);
}

function drift(known: SourceShape, now: SourceShape): ConditionCause | undefined {
  if (known.kind !== now.kind) {
    const kinds = {
      ReplicaSet: 'a replica set',
      Sharded: 'a sharded cluster',
      Unknown: 'a topology that its tool does not report',
    } as const;
    return changed(`it was ${kinds[known.kind]} and is now ${kinds[now.kind]}`);
  }
  const added = now.shards.filter((shard) => !known.shards.includes(shard));
  const gone = known.shards.filter((shard) => !now.shards.includes(shard));
  if (added.length + gone.length === 0) return undefined;
  return changed(
    [
      ...(added.length > 0 ? [`added: ${listed(added)}`] : []),
      ...(gone.length > 0 ? [`removed: ${listed(gone)}`] : []),
    ].join('; '),
  );
}

function changed(how: string): ConditionCause {
  return {
    reason: 'ShardsChanged',
    message: `the shards of the source have changed (${how}): the operator does not commit; restore the shards, or start over with another ClusterSync`,
    level: 'stalled',
  };
}
