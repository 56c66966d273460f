import { BSON, type Timestamp } from 'mongodb';
import { checkedRow } from './checked-value.ts';
import type { ClusterClient } from './cluster-client.ts';
import { namespaceFrom, type Namespace } from './namespace.ts';
import type { RawDocument } from './raw-bson.ts';
import { RawCursor } from './raw-cursor.ts';
import { runCommand } from './run-command.ts';
import { readVersion } from './topology.ts';
import { hasFeature } from './server-features.ts';

/** A part of an oplog, both ends included. */
export interface OplogRange {
  readonly from: Timestamp;
  readonly to: Timestamp;
}

/** The operations that an applyOps command has written together, and logged as one entry. */
export interface AppliedOps {
  readonly time: Timestamp;
  readonly targets: readonly AppliedOpsTarget[];
}

/** A collection that it has written to. */
export interface AppliedOpsTarget {
  readonly namespace: Namespace;
  /** As 32 hexadecimal digits. */
  readonly uuidHex: string | undefined;
}

/**
 * Whether the change streams of a replica set omit what the command applyOps writes (seen on 6.0.5 and 6.0.27). Later releases
 * show it (seen on 7.0.28); they also log other writes in entries of the same form, such as inserts of several documents (8.0).
 */
export async function hidesAppliedOps(
  cluster: Pick<ClusterClient, 'admin'>,
  signal: AbortSignal,
): Promise<boolean> {
  return !hasFeature(await readVersion(cluster, signal), 'appliedOpsInChangeStreams');
}

/**
 * Finds what the command applyOps has written to a replica set of a version that {@link hidesAppliedOps hides} it. Of the forms
 * in which 6.0.5 logs that command this is the one without events: only CRUD, all carried out together. Operations that it logs
 * one by one, as beside a command or with `allowAtomic: false`, are events like any other. An entry of a transaction has its
 * own session and transaction number, even if it is prepared or only a part.
 * @param range - a majority must have its end. The scan begins at its start, and reads nothing after its end.
 * @param maxTimeMs - after which the server gives up.
 */
export async function* findAppliedOps(
  { raw }: Pick<ClusterClient, 'raw'>,
  { from, to }: OplogRange,
  { signal, maxTimeMs }: { readonly signal: AbortSignal; readonly maxTimeMs: number },
): AsyncGenerator<AppliedOps, void, undefined> {
  const command = {
    find: 'oplog.rs',
    filter: {
      ts: { $gte: from, $lte: to },
      op: 'c',
      'o.applyOps': { $type: 'array' },
      $or: [{ lsid: { $exists: false } }, { txnNumber: { $exists: false } }],
    },
    projection: { ts: 1, 'o.applyOps.ns': 1, 'o.applyOps.ui': 1 },
    // A primary other than the one that reported the end may not know of it yet.
    readConcern: { level: 'majority', afterClusterTime: to },
    maxTimeMS: maxTimeMs,
  };
  await using cursor = await RawCursor.open(raw, 'local', command, { signal });
  for await (const { documents } of cursor.batches())
    yield* documents.map((entry) => appliedOpsIn(entry, cursor.address));
}

/** The time of the oldest entry of a replica set's oplog. */
export async function oldestEntryTime(
  { decoded }: Pick<ClusterClient, 'decoded'>,
  signal: AbortSignal,
): Promise<Timestamp> {
  const read = { find: 'oplog.rs', sort: { $natural: 1 }, limit: 1, singleBatch: true } as const;
  const command = { ...read, projection: { ts: 1 }, readConcern: { level: 'local' } };
  const answer = await runCommand(decoded.db('local'), command, { signal });
  const batch = answer.field('cursor').field('firstBatch');
  const [oldest] = batch.list();
  if (oldest === undefined) throw batch.error('has no entry of the oplog');
  return oldest.field('ts').timestamp();
}

function appliedOpsIn(entry: RawDocument, server: string): AppliedOps {
  // Names that are not UTF-8 are read as they are displayed.
  const row = checkedRow(
    BSON.deserialize(entry, { validation: { utf8: false } }),
    'an entry of the oplog',
    server,
  );
  return {
    time: row.field('ts').timestamp(),
    targets: row
      .field('o')
      .field('applyOps')
      .list()
      .map((operation) => ({
        namespace: namespaceFrom(operation.field('ns').text()),
        uuidHex: operation.optional('ui')?.uuid().toHexString(false),
      })),
  };
}
