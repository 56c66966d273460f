import type { ClusterSync } from '../api/clustersync.ts';
import { isConditionTrue } from '../kube/conditions.ts';
import { reasonFor, type ApiError } from '../operand/http-api.ts';
import type { Trouble } from '../operand/trouble.ts';
import { troubleOfError } from './instance-trouble.ts';
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
 * Whether the source is to be asked what it is: as long as nothing depends on the answer, it is not. A replica set is
 * asked once.
 */
export function isSourceAsked({ metadata, status }: ClusterSync): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  if (isConditionTrue(status?.conditions, 'Committed')) return false;
  return status?.source?.kind !== 'ReplicaSet';
}

/**
 * What follows from what is known of a source. What it was at first stays: that it cannot be reached later changes
 * nothing, and instances are never added to a sync that may have begun, nor taken away.
 * @param known - from the status.
 */
export function findingOf(known: SourceShape | undefined, view: SourceView): SourceFinding {
  if (!known) return firstFindingOf(view);
  const trouble = view.kind === 'found' ? drift(known, view.source) : undefined;
  const isConfirmed = known.kind === 'ReplicaSet' || (view.kind === 'found' && !trouble);
  return { source: known, trouble, isConfirmed };
}

function firstFindingOf(view: SourceView): SourceFinding {
  const nothing = { source: undefined, isConfirmed: false };
  switch (view.kind) {
    case 'unknown':
      return { ...nothing, trouble: waiting('the source is being asked for its shards') };
    case 'failed': {
      return { ...nothing, trouble: troubleOfAsking(view.error) };
    }
    case 'found': {
      const { source } = view;
      const unusable = unusableIn(source);
      if (unusable) return { ...nothing, trouble: unusable };
      return { source, trouble: waiting('the pods are about to be made'), isConfirmed: true };
    }
  }
}

function troubleOfAsking(error: ApiError): Trouble {
  if (error.name === 'InvalidOption') {
    const message = `the Secret of the source: ${error.description}`;
    return { reason: reasonFor(error.name), message, level: 'stalled' };
  }
  const trouble = troubleOfError(error, 'asking the source for its shards failed with');
  return trouble.level === 'waiting' ? { ...trouble, level: 'warning' } : trouble;
}

function waiting(message: string): Trouble {
  return { reason: 'PodPending', message, level: 'waiting' };
}

function unusableIn({ kind, shards }: SourceShape): Trouble | undefined {
  if (kind === 'ReplicaSet') return undefined;
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
    const kinds = { ReplicaSet: 'replica set', Sharded: 'sharded cluster' } as const;
    return changed(`it was a ${kinds[known.kind]}, and is a ${kinds[now.kind]} now`);
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
