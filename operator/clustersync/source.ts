import type { ClusterSync, ClusterSyncSpec } from '../api/clustersync.ts';
import { isConditionTrue } from '../kube/conditions.ts';
import { shortened } from '../../service/errors.ts';
import { apiErrorCause } from '../operand/api-causes.ts';
import { reasonFor, type ApiError } from '../operand/http-api.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';
import { isLetGo } from './on-record.ts';
import { listed, type SourceShape } from './resources.ts';
import type { SourceView } from './source-topologies.ts';

/** The conclusions about a source. */
export interface SourceFinding {
  /** For the status: the source as it was first seen. */
  readonly source: SourceShape | undefined;
  /** Why there are no instances yet or, if there are, why the sync must not continue. */
  readonly cause: ConditionCause | undefined;
  /** Whether its shards are known to be unchanged: if not, a commit could miss something. */
  readonly isConfirmed: boolean;
}

/** The limit of the status. */
const maxShards = 256;
/** The limit of a name, in characters. */
const maxNameLength = 256;
/** Names that can be in a comma-separated list, in an argument of a container. */
const usableName = /^[^\s,$]+$/;
/** How much of an unusable name a message quotes. */
const shownNameLength = 100;

/**
 * Whether to ask a syncer for the topology of the source, which is not done while nothing depends on it. If the source can have no other
 * shards, one answer is enough.
 */
export function isSourceAsked(clusterSync: ClusterSync): boolean {
  const { metadata, status } = clusterSync;
  // Needed to know which instances to tell that the sync ends.
  if (metadata.deletionTimestamp !== undefined)
    return status?.source === undefined && !isLetGo(clusterSync);
  if (isConditionTrue(status?.conditions, 'Committed')) return false;
  return status?.source === undefined || status.source.kind === 'Sharded';
}

/**
 * What follows from what is known about a source. The first answer stays: that the source is unreachable later changes
 * nothing, and instances are never added to, nor removed from, a sync that may have started.
 * @param known - from the status.
 */
export function findingOf(
  known: SourceShape | undefined,
  view: SourceView,
  spec: ClusterSyncSpec,
): SourceFinding {
  if (!known) return firstFindingOf(view, spec);
  const cause = view.kind === 'found' ? drift(known, view.source) : undefined;
  const isConfirmed =
    known.kind !== 'Sharded' || (view.kind === 'found' && view.isOld !== true && !cause);
  return { source: known, cause, isConfirmed };
}

function firstFindingOf(view: SourceView, spec: ClusterSyncSpec): SourceFinding {
  const nothing = { source: undefined, isConfirmed: false };
  switch (view.kind) {
    case 'unknown':
    // Reported as a cause of the instance.
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
      const unusable = unusableIn(source, spec);
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

/** Why the topology cannot be used: it does not fit into the status, or its names do not fit into pods. */
function unusableIn(
  { kind, shards }: SourceShape,
  { source, syncer: { instances } }: ClusterSyncSpec,
): ConditionCause | undefined {
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
  if (kind === 'Unknown' && instances !== undefined && instances > 1)
    return unsupported(
      'the sync tool does not report the topology of the source, and may not be able to divide the work: spec.syncer.instances must be 1',
    );
  // A syncer with that id would wait for those of the other shards.
  if (isSharded && instances === 1 && shards.length > 1 && shards.includes(source.name))
    return unsupported(
      `${called(source.name)}, which cannot be spec.source.name if spec.syncer.instances is 1`,
    );
  const isCalledByShards = isSharded && instances === undefined;
  const name = isCalledByShards ? shards.find((shard) => !usableName.test(shard)) : undefined;
  return name === undefined
    ? undefined
    : unsupported(
        `${called(name)}: instances cannot be named after shards with commas, spaces or dollar signs; recreate the ClusterSync with spec.syncer.instances, which names them after the source`,
      );
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
