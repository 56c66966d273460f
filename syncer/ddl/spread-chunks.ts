import { BSON, type Document } from 'mongodb';
import { namespaceText } from '../../mongo/namespace.ts';
import { retrying } from '../../mongo/retrying.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { elementsOf, type RawDocument } from '../../mongo/raw-bson.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { isRefused } from '../../mongo/server-errors.ts';
import { shardKeyDocument, type ShardKey } from '../../mongo/shard-key.ts';
import { checkedWhenSent } from '../../mongo/write-guard.ts';
import { splitPoints } from '../source/split-points.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { chunkCount, planMoves, type Chunk } from './chunk-plan.ts';

/** Sampled documents for each chunk: more of them make the chunks more equal. */
const samplesPerChunk = 20;

/** Names of the fields of the shard key in a sample: their own may have dots. */
const sampledName = (index: number): string => `k${index}`;

/** What spreading chunks needs. */
export type SpreadContext = Pick<
  SyncContext,
  'source' | 'destination' | 'signal' | 'logger' | 'monitor' | 'requireLease'
>;

/**
 * Splits a sharded collection of the destination in chunks of about the same number of documents, by a sample of the source,
 * and spreads them over the shards. What has a hashed shard key, or zones, has been spread by the server. May be repeated.
 */
export async function spreadChunks(
  context: SpreadContext,
  tracked: TrackedCollection,
  key: ShardKey,
  hasZones: boolean,
): Promise<void> {
  const { destination, logger } = context;
  const namespace = namespaceText(tracked.namespace);
  if (!hasZones && key[0]?.kind !== 'hashed' && destination.shards.length > 1) {
    for (const middle of await sampledSplits(context, tracked, key))
      await splitAt(context, namespace, middle);
    for (const { chunk, to } of planMoves(await readChunks(context, namespace), destination.shards))
      await moveChunk(context, namespace, chunk, to);
  }
  const placed: Record<string, number> = {};
  for (const { shard } of await readChunks(context, namespace))
    placed[shard] = (placed[shard] ?? 0) + 1;
  logger.debug({ namespace, key: shardKeyDocument(key), chunks: placed }, 'sharded');
}

/** Where to split: values of the shard key in order, in the types that the source has. */
async function sampledSplits(
  { source, destination, signal }: SpreadContext,
  { namespace, sizeBytes }: TrackedCollection,
  key: ShardKey,
): Promise<Document[]> {
  const count = chunkCount(sizeBytes, destination.shards.length);
  const fields = key.map(({ field }, index) => [
    sampledName(index),
    { $ifNull: [`$${field}`, null] },
  ]);
  const pipeline = [
    { $sample: { size: count * samplesPerChunk } },
    { $project: { _id: { ...(Object.fromEntries(fields) as Document) } } },
    // What the server takes for the same value is no place to split at twice.
    { $group: { _id: '$_id' } },
    { $sort: { _id: 1 } },
  ];
  const samples: RawDocument[] = [];
  await using cursor = await RawCursor.open(
    source.raw,
    namespace.db,
    {
      aggregate: namespace.coll,
      pipeline,
      cursor: {},
      allowDiskUse: true,
      collation: { locale: 'simple' },
    },
    { signal },
  );
  for await (const { documents } of cursor.batches()) samples.push(...documents);
  return splitPoints(samples, count).map((sample) => middleOf(sample, key));
}

function middleOf(sample: RawDocument, key: ShardKey): Document {
  const [id] = elementsOf(sample);
  const values = id === undefined ? [] : elementsOf(id.bytes, id.offset);
  const middle: Document = {};
  key.forEach(({ field, kind }, index) => {
    const value = values.find(({ name }) => name === sampledName(index));
    if (kind === 'hashed' || value === undefined) middle[field] = new BSON.MinKey();
    else middle[field] = new RawValue(field, value);
  });
  return middle;
}

/** Splits a chunk; a place that is a bound already, or an array, which no chunk can begin with, is left out. */
async function splitAt(
  { destination, signal, logger, requireLease }: SpreadContext,
  namespace: string,
  middle: Document,
): Promise<void> {
  const split = checkedWhenSent({ split: namespace, middle }, requireLease);
  try {
    await runCommand(destination.admin, split, { signal });
  } catch (error) {
    if (!isRefused(error)) throw error;
    logger.debug({ namespace, err: error }, 'not split here');
  }
}

async function moveChunk(
  context: SpreadContext,
  namespace: string,
  { min, max }: Chunk<Document>,
  to: string,
): Promise<void> {
  const { destination, signal, requireLease } = context;
  await retrying(context, 'chunks', async () => {
    const move = { moveChunk: namespace, bounds: [min, max], to, _waitForDelete: true };
    await runCommand(destination.admin, checkedWhenSent(move, requireLease), {
      signal,
      deadlineMs: 'none',
    });
  });
}

/** The chunks of a collection of the destination, in the order of their bounds. */
async function readChunks(
  { destination, signal }: SpreadContext,
  namespace: string,
): Promise<Chunk<Document>[]> {
  const config = destination.decoded.db('config');
  const collection = await config
    .collection<{ _id: string; uuid: unknown }>('collections')
    .findOne({ _id: namespace }, { signal, promoteValues: false });
  const chunks = config.collection('chunks').find(
    { uuid: collection?.uuid },
    // The types of the bounds are kept.
    { signal, promoteValues: false, sort: { min: 1 } },
  );
  return (await chunks.toArray()).map(({ min, max, shard }) => ({
    min: min as Document,
    max: max as Document,
    shard: String(shard),
  }));
}
