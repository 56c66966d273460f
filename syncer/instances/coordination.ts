import { once } from 'node:events';
import type { Document } from 'mongodb';
import {
  type Phase,
  isAppliedInOrder,
  type Partition,
  type TrackedCollection,
} from '../store/records.ts';
import type { Assembly, StreamPlace } from '../store/instances.ts';
import { hashText } from '../../mongo/canonical-id.ts';

/** The part of a phase that only one instance does, while the others wait. */
export interface CoordinatorWork {
  readonly phase: Phase;
  /** What has to come first; undefined once nothing is waited for. */
  readonly waitsFor?: (assembly: Assembly) => string | undefined;
  /** Takes the sync to the next phase. May be repeated, even by another instance. */
  readonly run: () => Promise<void>;
}

/** How the instances of a sync work together. */
export interface Coordination {
  readonly share: Share;
  /** Throws if this instance may not change the catalog of the destination: LeaseLost if another one coordinates. */
  readonly requireLease: () => void;
  /**
   * Does the work of a phase as the coordinator, or waits until the coordinator has done it. Resolves when the phase is over.
   */
  asCoordinator(work: CoordinatorWork): Promise<void>;
  /**
   * Applies a change of the catalog, or waits until the coordinator has: it does so once all instances have reached the change.
   * Afterwards this instance knows the new catalog. A change that is not before the commit is left out.
   * @param place - of the change. This instance has applied everything before it, and stored that.
   */
  meet(place: StreamPlace, apply: () => Promise<void>): Promise<void>;
  /**
   * For work beside the changes that only the coordinator does, and that must not continue in a later term: another coordinator may
   * have changed the catalog in between. The sync does not wait for its end.
   * @returns throws LeaseLost once the present term has ended.
   * @throws LeaseLost if this instance is not the coordinator.
   */
  requireThisTerm(): () => void;
  /** Keeps what is known of the other instances up to date, until the signal is aborted. */
  watch(signal: AbortSignal): Promise<void>;
}

/** The only instance of a sync: it waits for nobody. */
export class Alone implements Coordination {
  readonly share = { index: 0, count: 1, isByValue: true };

  readonly requireLease: () => void;

  /** @param requireOwnership - throws if another process may work as the instance. */
  constructor(requireOwnership: () => void) {
    this.requireLease = requireOwnership;
  }

  async asCoordinator({ run }: CoordinatorWork): Promise<void> {
    await run();
  }

  async meet(_place: StreamPlace, apply: () => Promise<void>): Promise<void> {
    await apply();
  }

  requireThisTerm(): () => void {
    this.requireLease();
    return this.requireLease;
  }

  async watch(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await once(signal, 'abort');
  }
}

/** An instance's share of the work: `index` of `count`, from 0 on. */
export interface Share {
  readonly index: number;
  readonly count: number;
  /** See {@link SyncRecord.isSharedByValue}. */
  readonly isByValue: boolean;
}

/** True for the instance that copies a collection, or a partition of it. Others copy the next partitions. */
export function isCopiedBy(
  { index, count }: Pick<Share, 'index' | 'count'>,
  { uuid }: Pick<TrackedCollection, 'uuid'>,
  partition: Partition | 'all',
): boolean {
  const place = partition === 'all' ? 0 : partition.index;
  return (hashText(uuid.toHexString(false)) + place) % count === index;
}

const documentOperations = ['insert', 'update', 'replace', 'delete'];

/**
 * What an instance requests from the change stream: every change of the catalog, and the document changes that it applies. All
 * changes of an `_id` go to one instance, whichever shard it was on, and whatever types its numbers have: so they stay in order
 * when a document moves to another shard, and when another one of an equal `_id` takes its place. A collection whose changes
 * must be applied in order (isAppliedInOrder) belongs to one instance as a whole. Undefined if one instance applies everything.
 */
export function changesOf(
  { index, count, isByValue }: Share,
  collections: readonly TrackedCollection[],
): Document | undefined {
  if (count === 1) return undefined;
  const uuids = collections.filter(isAppliedInOrder).map(({ uuid }) => uuid);
  const id = '$documentKey._id';
  const subject = {
    $cond: [
      { $in: ['$collectionUUID', uuids] },
      '$collectionUUID',
      isByValue ? withNumbersAsDoubles(id) : id,
    ],
  };
  const hash = { $mod: [{ $toHashedIndexKey: subject }, count] };
  // The remainder of a negative number is negative.
  const owner = { $mod: [{ $add: [hash, count] }, count] };
  return {
    $or: [{ operationType: { $nin: documentOperations } }, { $expr: { $eq: [owner, index] } }],
  };
}

/**
 * An expression with the same hash for all values that are equal for a unique index. The hash of a number is that of a whole one:
 * of a double without its fraction, of a decimal rounded, so that of 0.75 as a double and as a decimal differ (seen on 6.0.27).
 * What is nested deeper counts only by its type.
 */
function withNumbersAsDoubles(value: string): Document {
  const fields = {
    $map: {
      input: { $objectToArray: value },
      as: 'field',
      in: ['$$field.k', asDouble('$$field.v', { $type: '$$field.v' })],
    },
  };
  return asDouble(value, fields);
}

function asDouble(value: string, ofObject: Document): Document {
  const isNested = { $in: [{ $type: value }, ['object', 'array']] };
  // No double equals a decimal that is out of their range.
  const double = { $convert: { input: value, to: 'double', onError: 0 } };
  return {
    $switch: {
      branches: [
        { case: { $isNumber: value }, then: double },
        { case: isNested, then: ofObject },
      ],
      default: value,
    },
  };
}
