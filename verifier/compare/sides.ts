import type { Document, Timestamp } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import type { SideName, Sides } from '../../mongo/sides.ts';

/** One side of a comparison. */
export interface Side {
  readonly cluster: ClusterClient;
  /** True for a sharded cluster, whose routers give a single view. */
  readonly isSharded: boolean;
  /** Reads see every write up to this cluster time, even from a newly elected primary. */
  readonly readAfter: Timestamp;
}

/** How a side's documents are read. */
export function readConcernOf({ readAfter }: Side): Document {
  return { level: 'majority', afterClusterTime: readAfter };
}

/** The two sides as a pass reads them. */
export function sidesOf(
  clusters: Sides<ClusterClient>,
  kinds: Sides<Pick<Side, 'isSharded'>>,
  readAfter: Sides<Timestamp>,
): Sides<Side> {
  const side = (name: SideName): Side => ({
    cluster: clusters[name],
    isSharded: kinds[name].isSharded,
    readAfter: readAfter[name],
  });
  return { source: side('source'), destination: side('destination') };
}

/** Documents and bytes of the source. */
export interface Amount {
  readonly documents: number;
  readonly bytes: number;
}

/** Documents of each side that were compared. */
export interface ReadDocuments extends Sides<number> {
  /** Documents of each side that were compared only by the servers' hashes; all others were compared byte for byte. */
  readonly hashed: number;
}
