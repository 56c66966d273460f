import type { HoldEnd } from '../../operator/commit/hold.ts';
import type { CommitWord } from '../../syncer/monitor/commit-word.ts';

/** A time: just now, or long ago. Nothing that is decided tells other times apart, but for the deadline. */
export type Ago = 'now' | 'longAgo';

/** How far the record of the sync is. */
export type Stored = 'running' | 'committing' | 'committed';

/** What an operator knows of the syncer: nothing after its own restart. */
export interface Known {
  readonly answer: Pick<CommitWord, 'canCommit' | 'commitUnderWay'> & { readonly state: string };
  readonly asked: Ago;
  readonly isUnreachable: boolean;
}

/** A process of the syncer. */
export interface Process {
  /** The record, as it has heard of it last. */
  readonly record: Stored;
  /** False until nothing of the process before it can come any more. */
  readonly isWorking: boolean;
  /** What it has last read of the record on the primary; null for nothing that still counts. */
  readonly onPrimary: Stored | null;
  readonly isProven: boolean;
  /** The commit request that it has been given, and who waits for the answer. */
  readonly request: null | {
    readonly stage: 'received' | 'sent';
    readonly isCallerGone: boolean;
  };
}

/** Everything that there is. A value of it is never changed. */
export interface Model {
  readonly hold: null | {
    readonly sent: Ago | null;
    readonly ending: HoldEnd | null;
  };
  readonly isMissed: boolean;
  readonly isAskedFor: boolean;
  readonly isLate: boolean;
  /** Of the application. */
  readonly size: 'up' | 'stopping' | 'down';
  /** That the commit is done is on record in the status. */
  readonly isDoneOnRecord: boolean;
  readonly known: Known | null;
  readonly command: null | 'sending' | { readonly kind: 'taken' | 'refused'; readonly ended: Ago };
  /** Commit requests on their way to the syncer: of the operator that waits for the answer, and of former ones. */
  readonly requests: { readonly waitedFor: boolean; readonly orphaned: boolean };
  readonly syncer: Process | null;
  /** A write of a commit is on its way to the store. */
  readonly isWriteOnItsWay: boolean;
  readonly primary: Stored;
  readonly majority: Stored;
}

/** How it begins: a sync that can be committed. */
export const beginning: Model = {
  hold: null,
  isMissed: false,
  isAskedFor: true,
  isLate: false,
  size: 'up',
  isDoneOnRecord: false,
  known: null,
  command: null,
  requests: { waitedFor: false, orphaned: false },
  syncer: { record: 'running', isWorking: true, onPrimary: null, isProven: false, request: null },
  isWriteOnItsWay: false,
  primary: 'running',
  majority: 'running',
};
