import type { ClusterSync } from '../api/clustersync.ts';
import { isConditionTrue } from '../kube/conditions.ts';
import { troubleOfError } from '../operand/api-trouble.ts';
import { reasonFor, type ApiError } from '../operand/http-api.ts';
import type { Trouble } from '../operand/trouble.ts';
import { isLetGo } from './on-record.ts';
import { listed, type SourceShape } from './resources.ts';
import type { SourceView } from './source-topologies.ts';

/** What is made of a source. */
export interface SourceFinding {
  /** For the status: what it was when it was first seen. */
  readonly source: SourceShape | undefined;
  /** Why there are no instances yet, or, where there are, why the sync must not go on. */
  readonly trouble: Trouble | undefined;
  /** Whether it is known that its shards are still the same: if not, something could be missing in what is committed. */
  readonly isConfirmed: boolean;
}

/** As many as the status has room for. */
const maxShards = 256;
/** Names that a list separated by commas can hold, as an argument of a container. */
const usableName = /^[^\s,$]{1,256}$/;

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
  const trouble = view.kind === 'found' ? drift(known, view.source) : undefined;
  const isConfirmed =
    known.kind !== 'Sharded' || (view.kind === 'found' && view.isOld !== true && !trouble);
  return { source: known, trouble, isConfirmed };
}

function firstFindingOf(view: SourceView): SourceFinding {
  const nothing = { source: undefined, isConfirmed: false };
  switch (view.kind) {
    case 'unknown':
    // What is said of that, is said of the instance.
    case 'silent':
      return { ...nothing, trouble: waiting('the first pod is asked which shards the source has') };
    case 'refused': {
      const message = `the Secret of the source: ${view.error.description}`;
      const reason = reasonFor(view.error.name);
      return { ...nothing, trouble: { reason, message, level: 'stalled' } };
    }
    case 'failed':
      return { ...nothing, trouble: troubleOfAsking(view.error) };
    case 'found': {
      const { source } = view;
      const unusable = unusableIn(source);
      if (unusable) return { ...nothing, trouble: unusable };
      return { source, trouble: waiting('the pods are about to be made'), isConfirmed: true };
    }
  }
}

function troubleOfAsking(error: ApiError): Trouble {
  const trouble = troubleOfError(error, 'asking the source for its shards failed with');
  return trouble.level === 'waiting' ? { ...trouble, level: 'warning' } : trouble;
}

function waiting(message: string): Trouble {
  return { reason: 'PodPending', message, level: 'waiting' };
}

function unusableIn({ kind, shards }: SourceShape): Trouble | undefined {
  if (kind !== 'Sharded') return undefined;
  const unsupported = (message: string): Trouble => {
    return { reason: 'SourceNotSupported', message, level: 'stalled' };
  };
  if (shards.length === 0) return unsupported('the source has no shards');
  if (shards.length > maxShards) {
    return unsupported(
      `the source has ${shards.length} shards: at most ${maxShards} can be synced`,
    );
  }
  const name = shards.find((shard) => !usableName.test(shard));
  if (name === undefined) return undefined;
  return unsupported(
    `the source has a shard called ${JSON.stringify(name)}: names with commas, spaces or dollar signs are not supported`,
  );
}

function drift(known: SourceShape, now: SourceShape): Trouble | undefined {
  if (known.kind !== now.kind) {
    const kinds = {
      ReplicaSet: 'a replica set',
      Sharded: 'a sharded cluster',
      Unknown: 'one that its tool says nothing of',
    } as const;
    return changed(`it was ${kinds[known.kind]}, and is ${kinds[now.kind]} now`);
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

function changed(how: string): Trouble {
  return {
    reason: 'ShardsChanged',
    message: `the source has other shards than at the beginning (${how}): no commit is sent; give it its shards back, or begin again with another ClusterSync`,
    level: 'stalled',
  };
}
