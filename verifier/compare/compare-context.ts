import type { ReadPreferenceMode, Timestamp } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import type { VerifierMonitor } from '../monitor.ts';
import type { RateLimit } from './rate-limit.ts';

/** One side of a comparison. */
export interface Side {
  readonly cluster: ClusterClient;
  /** True for a sharded cluster, of which its routers give one view. */
  readonly isSharded: boolean;
  /** Reads see every write up to this cluster time, also from a primary that was elected meanwhile. */
  readonly readAfter: Timestamp;
}

/** What every comparison works with. */
export interface CompareContext {
  readonly source: Side;
  readonly destination: Side;
  readonly monitor: VerifierMonitor;
  /** Above this size a collection is compared in ranges of about this size. */
  readonly rangeBytes: number;
  /** Which members documents are read from. */
  readonly readPreference: ReadPreferenceMode;
  readonly rateLimit: RateLimit;
  /** Whether differences tell the two values. */
  readonly reportValues: boolean;
  readonly signal: AbortSignal;
}
