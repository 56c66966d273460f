import { CoverageStore } from './coverage-store.ts';
import type { MetadataStore, ProcessIdentity } from './metadata-store.ts';
import { MismatchStore } from './mismatch-store.ts';
import { ProcessStore } from './process-store.ts';
import { RecheckStore } from './recheck-store.ts';
import { TaskStore } from './task-store.ts';
import { VerificationStore } from './verification-store.ts';

/** Everything that a verification keeps in the metadata store. */
export interface Stores {
  readonly verifications: VerificationStore;
  readonly processes: ProcessStore;
  readonly tasks: TaskStore;
  readonly rechecks: RecheckStore;
  readonly mismatches: MismatchStore;
  readonly coverages: CoverageStore;
}

export function storesOf(store: MetadataStore, identity: ProcessIdentity): Stores {
  return {
    verifications: new VerificationStore(store, identity),
    processes: new ProcessStore(store, identity),
    tasks: new TaskStore(store),
    rechecks: new RecheckStore(store),
    mismatches: new MismatchStore(store),
    coverages: new CoverageStore(store),
  };
}
