import type { Binary, Timestamp } from 'mongodb';
import type { Namespace } from '../../mongo/namespace.ts';
import type { ErrorName } from '../../service/error-table.ts';
import type { Sides } from '../../mongo/sides.ts';
import type { Amount, ReadDocuments } from '../compare/sides.ts';
import type { Selection } from './selection.ts';

/** Version of the stored state: any other one is refused. */
export const formatVersion = 7;

/** The kind of pass: everything; what is pending; or the one that decides. */
export type PassKind = 'first' | 'recheck' | 'last';

/** The subject of a verification, as it was at its start. */
export interface ScopeRecord extends Selection {
  /** True if the sync leaves out what indexes it can (`buildIndexes: never`). */
  readonly mayLackIndexes: boolean;
  /** The sync on the destination: when it was started, and how often it was reversed. Null if that was unknown. */
  readonly sync: string | null;
}

/** Where the verification of one side begins. */
export interface Start {
  readonly isSharded: boolean;
  /** Changes after this cluster time are followed. */
  readonly from: Timestamp;
}

/** How far the changes of a side have been noted. */
export interface Position {
  readonly token: Binary;
  readonly time: Timestamp;
}

/** A pass whose tasks are all stored. */
export interface PassRecord {
  /** 0 is the first pass. */
  readonly number: number;
  /** Of the coordinator that planned it: tasks with any other belong to a plan that was never finished. */
  readonly epoch: number;
  readonly kind: PassKind;
  /** True for a last pass that is repeated for what the one before did not prove. */
  readonly isAgain: boolean;
  /** How many tasks were planned. */
  readonly plannedTasks: number;
  /** Reads of this pass see every write up to these times. */
  readonly readAfter: Sides<Timestamp>;
  /** That of the pass before: every change up to these times has been compared. Null in the first pass. */
  readonly comparedUpTo: Sides<Timestamp> | null;
  readonly startedAt: Date;
  /** How many rechecks its tasks have noted; null until all of them have ended. */
  readonly noted: number | null;
}

/** A pass of a run. */
export interface PassKey {
  readonly run: string;
  /** The number of the pass, starting at 0: `generation` in the store and in the API. */
  readonly generation: number;
}

/** A pass of a run, as one plan has made it. */
export interface PlanKey extends PassKey {
  /** Of the coordinator that planned it. */
  readonly epoch: number;
}

/** The plan of a pass, which is part of all its tasks. */
export function planKey(run: string, { number, epoch }: PassRecord): PlanKey {
  return { run, generation: number, epoch };
}

/** What a coordinator has noted of the changes for a pass that it, or another coordinator, will plan. */
export interface ChangeNote {
  readonly generation: number;
  /** Of the coordinator. */
  readonly epoch: number;
  /** How many rechecks. */
  readonly count: number;
}

/** What a pass that has ended has found. */
export interface PassResult {
  readonly generation: number;
  readonly mismatches: number;
  /** How long its oldest difference has lasted; 0 if it has found none. */
  readonly longestMs: number;
  /** Whether it has compared everything that it had to, and stored all differences. */
  readonly isWhole: boolean;
  readonly endedAt: Date;
  /**
   * The end of the last pass that was long: the first one, for example. What that has found first may be much older than it tells;
   * every pass since has compared it again.
   */
  readonly shortSince: Date;
}

/** Sums over all finished passes. */
export interface Totals {
  readonly documents: number;
  readonly bytes: number;
}

/** Why a verification cannot continue. */
export interface ErrorRecord {
  readonly name: ErrorName;
  readonly message: string;
  /** True if changes are lost, so that only a new verification can give a verdict. */
  readonly isFinal: boolean;
}

/** A verification. Only the coordinator writes it, except for what the API's commands change. */
export interface VerificationRecord {
  readonly formatVersion: number;
  /** The number that its processes were started with: processes with a lower one are obsolete. */
  readonly attempt: number;
  /** Identifies this run: everything else that is stored carries it. */
  readonly run: string;
  readonly status: 'idle' | 'running' | 'complete';
  readonly writesOff: boolean;
  /** The clusters and the filter, so that nobody mistakes the state of other ones for their own. */
  readonly subject: string | null;
  readonly scope: ScopeRecord | null;
  readonly starts: Sides<Start> | null;
  readonly positions: Sides<Position | null>;
  /** What is recorded of the changes up to the positions, for passes that are not planned yet. */
  readonly noted: readonly ChangeNote[];
  readonly generation: PassRecord | null;
  /** Null until a pass has ended. */
  readonly lastPass: PassResult | null;
  readonly totals: Totals;
  readonly verdict: 'equal' | 'different' | null;
  /** Null without a verdict, and with any other than `equal`. */
  readonly proof: Proof | null;
  readonly error: ErrorRecord | null;
  readonly startedAt: Date | null;
  readonly completedAt: Date | null;
}

/** Documents inserted and deleted on each side, by the events of its change stream: each counted at least once. */
export interface Tally {
  readonly inserted: Sides<number>;
  readonly deleted: Sides<number>;
}

/** The latest pass that has read every document of a namespace on both sides, and how many there were. */
export interface Coverage {
  readonly namespace: Namespace;
  readonly generation: number;
  /** True for a last pass, which excuses each document that is only on one side by its own expiry date. */
  readonly isOfLast: boolean;
  /** Contiguous ranges from the lowest to the highest `_id`, without gap or overlap. */
  readonly ranges: number;
  readonly read: ReadDocuments;
}

/** Documents of a namespace, as each side counts them after all writes. */
export interface Count {
  readonly namespace: Namespace;
  readonly counted: Sides<number>;
}

/** The proof of the verdict `equal`, summed up over all collections. */
export interface Proof {
  readonly collections: number;
  readonly ranges: number;
  /** Documents read by the passes that compared whole collections. */
  readonly documentsCompared: Sides<number>;
  /** Documents of each side that were compared only by the servers' hashes; all others were compared byte for byte. */
  readonly documentsHashed: number;
  readonly documentsCounted: Sides<number>;
}

/** A unit of comparison, as stored. Pure data. */
export type TaskWork =
  /** Existence, kind, options, indexes and placement of a namespace. */
  | { readonly kind: 'metadata' }
  /** Every document of a collection; a large one is split into ranges. */
  | { readonly kind: 'collection' }
  /** Bounds are `{_id: ...}`. */
  | { readonly kind: 'range'; readonly min: Binary | null; readonly max: Binary | null }
  /** The documents of these ids, as keys in bytes. */
  | {
      readonly kind: 'ids';
      readonly ids: readonly Binary[];
      /** True if they have changed since the last pass: then they do not differ since that pass, but in another way. */
      readonly isChanged: boolean;
    };

/** A task of a pass. */
export interface Task {
  readonly namespace: Namespace;
  readonly work: TaskWork;
  /** What it has to compare, as far as that is known. */
  readonly expected: Amount;
}

/** What must be compared again in a later pass. */
export type Recheck =
  | { readonly kind: 'ids'; readonly namespace: Namespace; readonly ids: readonly Binary[] }
  /** Options, indexes and placement. */
  | { readonly kind: 'metadata'; readonly namespace: Namespace }
  /** Every document, and metadata. */
  | { readonly kind: 'whole'; readonly namespace: Namespace }
  /** Each namespace of a database that was dropped. */
  | { readonly kind: 'database'; readonly db: string };

/** A task that a process has claimed. */
export interface ClaimedTask extends Task {
  readonly key: string;
  /** Identifies this claim: results written for another one no longer count. */
  readonly claim: string;
  /** How often it was claimed, including this time. */
  readonly claims: number;
}

/** How a task ended. */
export interface TaskEnd {
  readonly task: ClaimedTask;
  readonly isFailed: boolean;
  readonly isMetadata: boolean;
  readonly compared: Amount;
  /** Documents of each side, if every document of the task was read on both; null otherwise. */
  readonly read: ReadDocuments | null;
  /** How many tasks have replaced it; null if it was not split. */
  readonly parts: number | null;
  /** Differences beyond those that are stored. */
  readonly isOverflowing: boolean;
  /** Whether a server's error has kept it from comparing everything. */
  readonly isDisturbed: boolean;
  /** How many rechecks it has noted, under {@link taskNote}. */
  readonly noted: number;
}

/** A task on documents, ended or not, as evidence of what was read. */
export interface RangeTask {
  readonly key: string;
  readonly namespace: Namespace;
  readonly work: TaskWork & { readonly kind: 'collection' | 'range' };
  readonly state: 'added' | 'processing' | 'completed' | 'failed';
  /** The last claim on it. */
  readonly claim: string | null;
  readonly read: ReadDocuments | null;
  readonly parts: number | null;
  readonly part: PartKey | null;
}

/** The name under which a task notes rechecks, for the claim that holds it. */
export function taskNote({ key, claim }: Pick<ClaimedTask, 'key' | 'claim'>): string {
  return `task:${key}:${claim}`;
}

/** Which part of a split a task is. */
export interface PartKey {
  readonly parent: string;
  readonly claim: string;
  readonly index: number;
}

/** The tasks of a pass, summed up. */
export interface TaskCounts {
  readonly added: number;
  readonly processing: number;
  readonly failed: number;
  readonly completed: number;
  readonly metadataMismatch: number;
  readonly compared: Amount;
  readonly expected: Amount;
  /** True if there were more differences than are stored. */
  readonly isOverflowing: boolean;
  /** Tasks that a server's error has kept from comparing everything. */
  readonly disturbed: number;
}

/** The tasks of a pass in one namespace. */
export interface NamespaceCounts {
  readonly namespace: string;
  readonly tasks: number;
  readonly endedTasks: number;
  readonly failedTasks: number;
  readonly compared: Amount;
  readonly expected: Amount;
}
