import type { Document, UUID } from 'mongodb';
import type { CheckedValue } from '../../mongo/checked-value.ts';
import { idBound } from '../../mongo/id-range.ts';
import { type ShardKey, shardKeyFrom } from '../../mongo/shard-key.ts';
import { decodeIndexSpec, decodeSpec } from '../../mongo/specification.ts';
import { namespaceIn, storedDocument, type StoredIn } from '../../mongo/stored-document.ts';
import { isErrorName } from '../../service/error-table.ts';
import { messageOf } from '../../service/errors.ts';
import type { Limits } from '../../sync-api/json.ts';
import {
  comparisons,
  parseStartBody,
  parseStoredLimits,
  resetDestinations,
  type StartOptions,
} from '../options/command-bodies.ts';
import type { StoredPhase } from './encoding.ts';
import type {
  ClusterRecord,
  FailureRecord,
  GroupCommand,
  InstanceRecord,
  Phase,
  ResetRecord,
  StoredPartition,
  SyncRecord,
  TrackedCollection,
  TrackedView,
} from './records.ts';

// Stored values are read only as the types that they are checked to be: each reader throws SyncError StoredStateInvalid.

const states = ['RUNNING', 'COMMITTING', 'COMMITTED'] as const satisfies SyncRecord['state'][];
const storedPhases = [
  ...(['catalog', 'copy', 'changes', 'restoring'] as const),
  ...(['done', 'handover', 'loosening'] as const),
] as const satisfies StoredPhase[];
const commands = ['start', 'commit', 'reverse', 'repair'] as const satisfies GroupCommand[];
const clusterNames = ['cluster0', 'cluster1'] as const;

function phaseOf(stored: StoredPhase): Phase {
  return stored === 'loosening' ? 'preparing' : stored;
}

/**
 * The state of a previous release says nothing about a reset, nor about whose the catalog is: before the copy that is unknown.
 */
export function syncRecordIn(from: StoredIn, found: Document): SyncRecord {
  const record = storedDocument(from, found);
  const phase = phaseOf(record.field('phase').oneOf(storedPhases));
  const instances = textsIn(record.field('instances'));
  if (instances.length === 0) throw record.field('instances').error('is empty');
  const received = record
    .field('received')
    .list()
    .map((count) => count.count());
  if (received.length !== instances.length)
    throw record.field('received').error('differs in length from instances');
  return {
    state: record.field('state').oneOf(states),
    phase,
    instances,
    isSharedByValue: record.optional('isSharedByValue')?.boolean() ?? false,
    command: record.field('command').oneOf(commands),
    commandCount: record.field('commandCount').count(),
    formerState: record.field('formerState').oneOf(['IDLE', ...states]),
    received,
    paused: textsIn(record.field('paused')),
    catalogEvent: record.orNull('catalogEvent')?.text() ?? null,
    reversals: record.field('reversals').count(),
    repairs: record.optional('repairs')?.count() ?? 0,
    comparison: record.optional('comparison')?.oneOf(comparisons) ?? 'hashes',
    options: optionsIn(record.field('options')),
    limits: limitsIn(record.optional('limits')),
    source: clusterIn(record.field('source')),
    destination: clusterIn(record.field('destination')),
    startedAt: record.field('startedAt').date(),
    startTime: record.orNull('startTime')?.timestamp() ?? null,
    catalogTimes: record
      .field('catalogTimes')
      .list()
      .map((one) => ({ db: one.field('db').text(), time: one.field('time').timestamp() })),
    estimatedTotalBytes: record.orNull('estimatedTotalBytes')?.count() ?? null,
    ownsCatalog: record.optional('ownsCatalog')?.boolean() ?? phase !== 'catalog',
    // A repair takes the start time back.
    isPresentSettled:
      record.optional('isPresentSettled')?.boolean() ??
      (record.orNull('startTime') !== null || (record.optional('repairs')?.count() ?? 0) > 0),
    ownedUuids:
      record
        .optional('ownedUuids')
        ?.list()
        .map((uuid) => uuid.uuid()) ?? null,
    collectionCount: record.orNull('collectionCount')?.count() ?? null,
    commitTime: record.orNull('commitTime')?.timestamp() ?? null,
    isFixingCommitTime: record.field('isFixingCommitTime').boolean(),
    writableTime: record.orNull('writableTime')?.timestamp() ?? null,
    canWrite: record.field('canWrite').boolean(),
    failure: failureIn(record.orNull('failure')),
    reset: resetIn(record.optional('reset')),
    warnings: textsIn(record.field('warnings')),
  };
}

function textsIn(list: CheckedValue): string[] {
  return list.list().map((one) => one.text());
}

function clusterIn(value: CheckedValue): ClusterRecord {
  return {
    name: value.field('name').oneOf(clusterNames),
    clusterId: value.field('clusterId').text(),
  };
}

function optionsIn(value: CheckedValue): StartOptions {
  try {
    return parseStartBody(value.document());
  } catch (error) {
    throw value.error(`cannot be read: ${messageOf(error)}`);
  }
}

function limitsIn(value: CheckedValue | undefined): Limits {
  if (value === undefined) return {};
  try {
    return parseStoredLimits(value.document());
  } catch (error) {
    throw value.error(`cannot be read: ${messageOf(error)}`);
  }
}

function failureIn(value: CheckedValue | null): FailureRecord | null {
  if (value === null) return null;
  const name = value.field('name').text();
  if (!isErrorName(name)) throw value.field('name').error(`is ${JSON.stringify(name)}`);
  return {
    instance: value.field('instance').text(),
    name,
    description: value.field('description').text(),
    at: value.field('at').date(),
  };
}

function resetIn(value: CheckedValue | undefined): ResetRecord | null {
  if (value === undefined) return null;
  return {
    destination: value.field('destination').oneOf(resetDestinations),
    received: textsIn(value.field('received')),
    ended: textsIn(value.field('ended')),
  };
}

/** The stored record of an instance. */
export function instanceIn(from: StoredIn, found: Document): InstanceRecord {
  const record = storedDocument(from, found);
  return {
    incarnation: record.field('incarnation').text(),
    resumeToken: record.orNull('resumeToken')?.binary() ?? null,
    appliedTime: record.orNull('appliedTime')?.timestamp() ?? null,
    appliedOpsTime: record.optional('appliedOpsTime')?.timestamp() ?? null,
    copiedBytes: record.field('copiedBytes').count(),
    eventsApplied: record.field('eventsApplied').count(),
    isCopied: record.field('isCopied').boolean(),
    arrivedAt: record.orNull('arrivedAt')?.text() ?? null,
    begunWith: record.optional('begunWith')?.count() ?? null,
    claims: record.field('claims').count(),
    heartbeatAt: record.field('heartbeatAt').date(),
  };
}

/** The collection in a stored document. */
export function collectionIn(from: StoredIn, found: Document): TrackedCollection {
  const record = storedDocument(from, found);
  return {
    uuid: record.field('_id').uuid(),
    namespace: namespaceIn(record.field('namespace')),
    destinationUuid: record.orNull('destinationUuid')?.uuid() ?? null,
    shardKey: shardKeyIn(record.orNull('shardKey')),
    options: specIn(record.field('options'), decodeSpec),
    indexes: record
      .field('indexes')
      .list()
      .map((index) => specIn(index, decodeIndexSpec)),
    namedAt: record.field('namedAt').timestamp(),
    namedBy: record.field('namedBy').timestamp(),
    replacedUuid: record.orNull('replacedUuid')?.uuid() ?? null,
    specifiedAt: record.field('specifiedAt').timestamp(),
    sizeBytes: record.field('sizeBytes').count(),
    documentCount: record.field('documentCount').count(),
    isAdopted: record.optional('isAdopted')?.boolean() ?? false,
    isCopied: record.field('isCopied').boolean(),
  };
}

function shardKeyIn(value: CheckedValue | null): ShardKey | null {
  if (value === null) return null;
  return value.list().flatMap((part) => {
    const kind = part.field('kind');
    return shardKeyFrom({ [part.field('field').text()]: kind.textOrNumber() });
  });
}

/** Specifications are kept as bytes. */
function specIn<T>(value: CheckedValue, decode: (bytes: Uint8Array) => T): T {
  try {
    return decode(value.binary().value());
  } catch (error) {
    throw value.error(`cannot be read: ${messageOf(error)}`);
  }
}

/** The view in a stored document. */
export function viewIn(from: StoredIn, found: Document): TrackedView {
  const record = storedDocument(from, found);
  return {
    namespace: namespaceIn(record.field('namespace')),
    options: specIn(record.field('options'), decodeSpec),
    specifiedAt: record.field('specifiedAt').timestamp(),
    specifiedBy: record.field('specifiedBy').timestamp(),
  };
}

/** What identifies a range of a collection. */
export interface PartitionKey {
  readonly collection: UUID;
  readonly index: number;
}

/** Which range of which collection a stored document describes. */
export function partitionKeyIn(from: StoredIn, found: Document): PartitionKey {
  const key = storedDocument(from, found).field('_id');
  return { collection: key.field('collection').uuid(), index: key.field('index').integer() };
}

/** A stored range of a collection. A range without a mark that it is copied is copied again. */
export function partitionIn(from: StoredIn, found: Document): StoredPartition {
  const record = storedDocument(from, found);
  const boundIn = (value: CheckedValue | null): Document | null =>
    value === null ? null : (specIn(value, idBound) ?? null);
  return {
    ...partitionKeyIn(from, found),
    min: boundIn(record.orNull('min')),
    max: boundIn(record.orNull('max')),
    isCopied: record.optional('isCopied')?.boolean() ?? false,
  };
}
