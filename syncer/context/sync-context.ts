import type { DestinationContext } from '../destination/destination-context.ts';
import type { Coordination } from '../instances/coordination.ts';
import type { SyncerTuning } from '../options/syncer-options.ts';
import type { SourceContext } from '../source/source-context.ts';
import type { SyncStore } from '../store/store.ts';

/** What the work from the source to the destination needs. */
export interface SyncContext extends SourceContext, DestinationContext {
  readonly store: SyncStore;
  readonly coordination: Coordination;
  readonly tuning: SyncerTuning;
}
