import type { ClusterClient } from '../mongo/cluster-client.ts';
import type { NamespaceFilter } from '../mongo/namespace-filter.ts';
import type { Logger } from '../service/logger.ts';
import type { StartOptions } from './options/start-body.ts';
import type { LeftIndexes } from './destination/left-indexes.ts';
import type { TrackedCatalog } from './store/tracked-catalog.ts';
import type { Coordination } from './instances/coordination.ts';
import type { SyncMonitor } from './monitor/monitor.ts';
import type { SyncStore } from './store/store.ts';
import type { SyncerTuning } from './options/syncer-options.ts';

/** What every part of a running sync works with. */
export interface SyncContext {
  readonly source: ClusterClient;
  readonly destination: ClusterClient;
  /** The ids of the source's shards; none where it is a replica set. */
  readonly sourceShards: readonly string[];
  /** The ids of the destination's shards; none where it is a replica set. */
  readonly destinationShards: readonly string[];
  readonly store: SyncStore;
  readonly catalog: TrackedCatalog;
  readonly leftIndexes: LeftIndexes;
  readonly coordination: Coordination;
  /** Throws where this instance may not change the catalog of the destination: another one coordinates. */
  readonly requireLease: () => void;
  readonly filter: NamespaceFilter;
  readonly options: StartOptions;
  readonly tuning: SyncerTuning;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  /** Keeps a warning for the people who look at progress. */
  readonly warn: (warning: string) => Promise<void>;
  /** Aborted when the sync is to stop: shutdown, or a failure in another part of it. */
  readonly signal: AbortSignal;
}
