import type { CheckedValue } from '../../mongo/checked-value.ts';
import { latestWriteTime } from '../../mongo/cluster-time.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { oldestEntryTime } from '../../mongo/oplog.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { bytesText, durationText } from '../../service/quantities.ts';
import type { CheckedSide, CheckSubject } from './check-subject.ts';
import { note, type Finding } from './finding.ts';
import type { CopySpeed } from './measure-copy.ts';

/**
 * The assumed rate of the copy, of documents as they are in memory: what the benchmark of copying reaches on two small cores
 * with indexes built before the copy (bench/results/copy.md). It is used where the speed was not measured.
 */
const assumedBytesPerSecond = 20_000_000;

/** The oplog must cover the copy this many times: indexes, catching up, and somebody who looks after it take time, too. */
const oplogMargin = 2;

/** A copy that is shorter needs no look at the oplog: no oplog is that small. */
const shortCopySeconds = 60;

/** From how many secondary indexes on, small documents are copied faster with indexes built afterwards (bench/results/copy.md). */
const severalIndexes = 2;
const smallDocumentBytes = 8 * 1024;

/** What to do about a time of the copy that follows from an assumed rate. */
const unmeasured =
  'Measure the rate before you plan with this time (clustersync check --measure-copy). Indexes and other work take time, too.';

/** Anything has room for less. */
const negligibleBytes = 100_000_000;

/** The share of the free space from which on it counts as tight. */
const tightShare = 0.8;

/** An oplog that covers less time, and is not full, does not tell its usual rate. */
const minSpanSeconds = 3_600;

/** An oplog that is so full has discarded entries, or will soon: what it covers is its window. */
const fullShare = 0.9;

/** What is to be copied, by the source's own figures. */
export interface CopySize {
  /** Of the documents, uncompressed. */
  readonly dataBytes: number;
  /** Of documents and indexes, on disk. */
  readonly storedBytes: number;
}

/** An oplog, as its server reports it. */
export interface OplogSize {
  readonly spanSeconds: number;
  readonly sizeBytes: number;
  readonly maxBytes: number;
}

/** The disks of a deployment: of its primary, or of those of all shards. */
export interface DiskSize {
  readonly freeBytes: number;
  /** How much its oplog can still grow; 0 if unknown. */
  readonly oplogGrowthBytes: number;
}

/**
 * Compares the oplog of the source with the estimated time of the copy, and the copy with the destination's disks.
 * @param speed - undefined if it was not measured.
 */
export async function checkCapacity(
  subject: CheckSubject,
  speed: CopySpeed | undefined,
): Promise<Finding[]> {
  const { source, destination, signal } = subject;
  const size = await copySize(subject);
  const oplog = await orReason(signal, async () => await oplogOf(source, signal));
  const disk = await orReason(signal, async () => await diskOf(destination, signal));
  return [...oplogFindings(size, oplog, speed), ...diskFindings(size, disk)];
}

/**
 * What the time of the copy means for the oplog.
 * @param oplog - or why it is unknown.
 * @param speed - if it was measured: then the answer has the time of a short copy, too.
 */
export function oplogFindings(
  { dataBytes }: CopySize,
  oplog: OplogSize | string,
  speed?: CopySpeed,
): Finding[] {
  const copySeconds = dataBytes / (speed ? speed.bytes / speed.seconds : assumedBytesPerSecond);
  const rate = speed
    ? `a measured ${bytesText(speed.bytes / speed.seconds)}/s (${bytesText(speed.bytes)} in ${speed.seconds.toFixed(1)} s)`
    : `an assumed ${bytesText(assumedBytesPerSecond)}/s`;
  const copy = `the copy of ${bytesText(dataBytes)} takes about ${durationText(copySeconds)}, at ${rate}`;
  const where = { side: 'source' } as const;
  const isShort = copySeconds < shortCopySeconds;
  const told = note('CopyEstimated', copy);
  const estimate = speed ? [told] : isShort ? [] : [{ ...told, action: unmeasured }];
  if (isShort) return estimate;
  const seconds = typeof oplog === 'string' ? undefined : windowSeconds(oplog);
  if (seconds === undefined) {
    const reason =
      typeof oplog === 'string' ? oplog : 'it is too young to tell how fast it is written';
    return [
      note('OplogUnknown', `how long the oplog lasts is unknown (${reason}); ${copy}`, where),
    ];
  }
  if (seconds >= oplogMargin * copySeconds) return estimate;
  return [note('OplogTooShort', `the oplog covers about ${durationText(seconds)}; ${copy}`, where)];
}

/** A collection, and how many indexes it has in addition to that of `_id`. */
export interface IndexedSize {
  readonly namespace: string;
  readonly dataBytes: number;
  readonly documentCount: number;
  readonly secondaryIndexes: number;
}

/** Whether the copy of some collections would be faster with their indexes built afterwards. */
export async function adviseOnIndexes(subject: CheckSubject): Promise<Finding[]> {
  const { buildIndexes, initialData } = subject.options;
  // Those that are there already have their indexes.
  if (buildIndexes !== 'beforeDataCopy' || initialData === 'Present') return [];
  return indexTimeFindings(await indexedSizes(subject));
}

/** @param collections - whose indexes are built before the copy. */
export function indexTimeFindings(collections: readonly IndexedSize[]): Finding[] {
  // Many small ones are faster with the default (bench/results/collections.md).
  const slow = collections.filter(
    ({ secondaryIndexes, dataBytes, documentCount }) =>
      secondaryIndexes >= severalIndexes &&
      dataBytes <= documentCount * smallDocumentBytes &&
      dataBytes / assumedBytesPerSecond >= shortCopySeconds,
  );
  if (slow.length === 0) return [];
  const bytes = slow.reduce((sum, { dataBytes }) => sum + dataBytes, 0);
  const message = `${bytesText(bytes)} of small documents are in large collections with several secondary indexes, which are built before the copy`;
  const namespaces = slow
    .toSorted((left, right) => right.dataBytes - left.dataBytes)
    .map(({ namespace }) => namespace);
  return [note('IndexesSlowCopy', message, { side: 'source', namespaces })];
}

/** How long an entry stays, at the average rate of writing; undefined if that is unknown. */
function windowSeconds({ spanSeconds, sizeBytes, maxBytes }: OplogSize): number | undefined {
  if (sizeBytes >= fullShare * maxBytes) return spanSeconds;
  return spanSeconds < minSpanSeconds ? undefined : (spanSeconds * maxBytes) / sizeBytes;
}

/** @param disk - or why it is unknown. */
export function diskFindings(
  { dataBytes, storedBytes }: CopySize,
  disk: DiskSize | string,
): Finding[] {
  if (storedBytes < negligibleBytes) return [];
  const where = { side: 'destination' } as const;
  const copy = `${bytesText(storedBytes)} of documents and indexes (the size on the source)`;
  if (typeof disk === 'string')
    return [note('DiskUnknown', `its free space is unknown (${disk}); it needs ${copy}`, where)];
  // The copy itself fills the oplog.
  const oplogBytes = Math.min(disk.oplogGrowthBytes, dataBytes);
  const needed = storedBytes + oplogBytes;
  if (needed < tightShare * disk.freeBytes) return [];
  const message = `${bytesText(disk.freeBytes)} are free, and ${bytesText(needed)} are needed: ${copy}, and up to ${bytesText(oplogBytes)} of oplog`;
  return [note(needed > disk.freeBytes ? 'DiskTooSmall' : 'DiskTight', message, where)];
}

async function copySize(subject: CheckSubject): Promise<CopySize> {
  const sizes = await subject.sizes();
  const sum = (field: keyof CopySize): number =>
    sizes.reduce((total, size) => total + size[field], 0);
  return { dataBytes: sum('dataBytes'), storedBytes: sum('storedBytes') };
}

async function indexedSizes(subject: CheckSubject): Promise<IndexedSize[]> {
  const counts = new Map<string, number>();
  for (const { info, indexes } of await subject.indexes())
    if (!(indexes instanceof SyncError))
      counts.set(namespaceText(info.namespace), indexes.length - 1);
  return (await subject.sizes()).map(({ namespace, dataBytes, documentCount }) => {
    const text = namespaceText(namespace);
    return { namespace: text, dataBytes, documentCount, secondaryIndexes: counts.get(text) ?? 0 };
  });
}

async function oplogOf(
  { cluster, topology }: CheckedSide,
  signal: AbortSignal,
): Promise<OplogSize> {
  if (topology.kind === 'sharded') throw new Error('routers do not show the oplogs of shards');
  const stats = await oplogStats(cluster, signal);
  const first = await oldestEntryTime(cluster, signal);
  const latest = await latestWriteTime(cluster, signal);
  return {
    spanSeconds: Math.max(1, latest.t - first.t),
    sizeBytes: stats.field('size').number(),
    maxBytes: stats.field('maxSize').number(),
  };
}

async function diskOf({ cluster, topology }: CheckedSide, signal: AbortSignal): Promise<DiskSize> {
  // Every server has this database.
  const stats = await runCommand(cluster.admin, { dbStats: 1 }, { signal });
  const shards = stats.optional('raw')?.entries() ?? [];
  const parts = shards.length > 0 ? shards.map(([, part]) => part) : [stats];
  const freeBytes = parts.reduce((sum, part) => sum + freeIn(part), 0);
  if (topology.kind === 'sharded') return { freeBytes, oplogGrowthBytes: 0 };
  const oplog = await orReason(signal, async () => await oplogStats(cluster, signal));
  return {
    freeBytes,
    oplogGrowthBytes: typeof oplog === 'string' ? 0 : growthOf(oplog),
  };
}

function freeIn(stats: CheckedValue): number {
  const total = stats.field('fsTotalSize').number();
  if (total === 0) throw stats.field('fsTotalSize').error('is 0');
  return Math.max(0, total - stats.field('fsUsedSize').number());
}

function growthOf(oplog: CheckedValue): number {
  return Math.max(0, oplog.field('maxSize').number() - oplog.field('storageSize').number());
}

async function oplogStats(
  { decoded }: Pick<ClusterClient, 'decoded'>,
  signal: AbortSignal,
): Promise<CheckedValue> {
  return await runCommand(decoded.db('local'), { collStats: 'oplog.rs' }, { signal });
}

/** What `read` returns, or why it cannot. */
async function orReason<T>(signal: AbortSignal, read: () => Promise<T>): Promise<T | string> {
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    return messageOf(error);
  }
}
