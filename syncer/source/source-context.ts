import type { Deployment } from '../../mongo/deployment.ts';
import type { NamespaceFilter } from '../../mongo/namespace-filter.ts';
import type { Logger } from '../../service/logger.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { StartOptions } from '../options/start-body.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';

/** What reading the source needs. */
export interface SourceContext {
  readonly source: Deployment;
  readonly catalog: TrackedCatalog;
  readonly filter: NamespaceFilter;
  readonly options: StartOptions;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  /** Keeps a warning for the people who look at progress. */
  readonly warn: (warning: string) => Promise<void>;
  /** Aborted when the sync is to stop: shutdown, or a failure in another part of it. */
  readonly signal: AbortSignal;
}
