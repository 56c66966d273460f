import type { Deployment } from '../../mongo/deployment.ts';
import type { Logger } from '../../service/logger.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { StartOptions } from '../options/start-body.ts';
import type { LeftIndexes } from './left-indexes.ts';

/** What writing to the destination needs. */
export interface DestinationContext {
  readonly destination: Deployment;
  readonly leftIndexes: LeftIndexes;
  /** Throws where this instance may not change the catalog of the destination: another one coordinates. */
  readonly requireLease: () => void;
  readonly options: StartOptions;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  /** Keeps a warning for the people who look at progress. */
  readonly warn: (warning: string) => Promise<void>;
  /** Aborted when the sync is to stop: shutdown, or a failure in another part of it. */
  readonly signal: AbortSignal;
}
