import type { Binary, Timestamp } from 'mongodb';
import type { NamespaceFilterEntry } from '../../mongo/namespace-filter.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import type { ErrorName } from '../../service/error-table.ts';
import type { Amount, OfSides } from '../compare/sides.ts';

/** Version of what is stored: another one is refused. */
export const formatVersion = 5;

/** Which pass it is: everything; what is pending; or the one that decides. */
export type PassKind = 'first' | 'recheck' | 'last';

/** What a verification is about, as it was when it began. */
export interface ScopeRecord {
  readonly includeNamespaces: readonly NamespaceFilterEntry[] | null;
  readonly excludeNamespaces: readonly NamespaceFilterEntry[] | null;
  /** True where the sync leaves out what indexes it can (`buildIndexes: never`). */
  readonly mayLackIndexes: boolean;
  /** Which sync the destination had: when it was started, and how often it was reversed. Null where that was not known. */
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
  /** Of the coordinator that has planned it: tasks of any other are those of a plan that was never finished. */
  readonly epoch: number;
  readonly kind: PassKind;
  /** True for a last pass that is made again, of what the one before did not prove. */
  readonly isAgain: boolean;
  /** How many tasks were planned. */
  readonly plannedTasks: number;
  /** Reads of this pass see every write up to these times. */
  readonly readAfter: OfSides<Timestamp>;
  readonly startedAt: Date;
  /** How many rechecks its tasks have noted; null until all of them have ended. */
  readonly noted: number | null;
}

/** A pass of a run. */
export interface PassKey {
  readonly run: string;
  /** The number of the pass, 0 that of the first: `generation` in the store and in the API. */
  readonly generation: number;
}

/** A pass of a run, as one plan has made it. */
export interface PlanKey extends PassKey {
  /** Of the coordinator that has planned it. */
  readonly epoch: number;
}

/** The plan of a pass, which all of its tasks carry. */
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

/** Sums over all passes that are over. */
export interface Totals {
  readonly documents: number;
  readonly bytes: number;
}

/** Why a verification cannot continue. */
export interface ErrorRecord {
  readonly name: ErrorName;
  readonly message: string;
  /** True where changes are lost, so that only a new verification can give a verdict. */
  readonly isFinal: boolean;
}

/** A verification. It is written by the coordinator alone, apart from what the API's commands change. */
export interface VerificationRecord {
  readonly formatVersion: number;
  /** The number that its processes were started with: those of a lower one have nothing more to say. */
  readonly attempt: number;
  /** Names this beginning: everything else that is stored carries it. */
  readonly run: string;
  readonly status: 'idle' | 'running' | 'complete';
  readonly writesOff: boolean;
  /** The clusters and the filter, so that nobody takes the state of others for that of his own. */
  readonly subject: string | null;
  readonly scope: ScopeRecord | null;
  readonly starts: OfSides<Start> | null;
  readonly positions: OfSides<Position | null>;
  /** What is on record of the changes up to the positions, for the passes that are not planned yet. */
  readonly noted: readonly ChangeNote[];
  readonly generation: PassRecord | null;
  readonly totals: Totals;
  readonly verdict: 'equal' | 'different' | null;
  /** Null without a verdict, and with another one than `equal`. */
  readonly proof: Proof | null;
  readonly error: ErrorRecord | null;
  readonly startedAt: Date | null;
  readonly completedAt: Date | null;
}

/** Documents of each side that were inserted and deleted, by the events of its change stream: each at least once. */
export interface Tally {
  readonly inserted: OfSides<number>;
  readonly deleted: OfSides<number>;
}

/** The latest pass that has read every document of a namespace on both sides, and how many there were. */
export interface Coverage {
  readonly namespace: Namespace;
  readonly generation: number;
  /** True for a last pass, which excuses each document that one side alone has by its own date of expiry. */
  readonly isOfLast: boolean;
  /** Ranges that join from the lowest to the highest `_id`, without a hole or an overlap. */
  readonly ranges: number;
  readonly read: OfSides<number>;
}

/** Documents of a namespace, as each side counts them after all writes. */
export interface Count {
  readonly namespace: Namespace;
  readonly counted: OfSides<number>;
}

/** What the verdict `equal` rests on, summed up over all collections. */
export interface Proof {
  readonly collections: number;
  readonly ranges: number;
  /** Documents that the passes have read which compared whole collections. */
  readonly documentsCompared: OfSides<number>;
  readonly documentsCounted: OfSides<number>;
}

/** One piece of comparing, as it is stored. Pure data. */
export type TaskWork =
  /** Existence, kind, options, indexes and placement of a namespace. */
  | { readonly kind: 'metadata' }
  /** Every document of a collection; a large one is split in ranges. */
  | { readonly kind: 'collection' }
  /** Bounds are `{_id: ...}`. */
  | { readonly kind: 'range'; readonly min: Binary | null; readonly max: Binary | null }
  /** The documents of these ids, as keys are written in bytes. */
  | { readonly kind: 'ids'; readonly ids: readonly Binary[] };

/** A task of a pass. */
export interface Task {
  readonly namespace: Namespace;
  readonly work: TaskWork;
  /** What it has to compare, as far as that is known. */
  readonly expected: Amount;
}

/** What is to be compared again in a later pass. */
export type Recheck =
  | { readonly kind: 'ids'; readonly namespace: Namespace; readonly ids: readonly Binary[] }
  /** Options, indexes and placement. */
  | { readonly kind: 'metadata'; readonly namespace: Namespace }
  /** Every document, and metadata. */
  | { readonly kind: 'whole'; readonly namespace: Namespace }
  /** Each namespace of a database that was dropped. */
  | { readonly kind: 'database'; readonly db: string };

/** A task that a process has taken. */
export interface ClaimedTask extends Task {
  readonly key: string;
  /** Names this taking of it: what another one writes of it counts no more. */
  readonly claim: string;
  /** How often it was taken, with this one. */
  readonly claims: number;
}

/** How a task ended. */
export interface TaskEnd {
  readonly task: ClaimedTask;
  readonly isFailed: boolean;
  readonly isMetadata: boolean;
  readonly compared: Amount;
  /** Documents of each side, where every document that the task is about was read on both; null otherwise. */
  readonly read: OfSides<number> | null;
  /** How many tasks have taken its place; null where it was not split. */
  readonly parts: number | null;
  /** Differences beyond those that are kept. */
  readonly isOverflowing: boolean;
  /** How many rechecks it has noted, under {@link taskNote}. */
  readonly noted: number;
}

/** A task on documents that has ended or not, as a proof of what was read looks at it. */
export interface RangeTask {
  readonly key: string;
  readonly namespace: Namespace;
  readonly work: TaskWork & { readonly kind: 'collection' | 'range' };
  readonly state: 'added' | 'processing' | 'completed' | 'failed';
  /** The claim that it was taken by last. */
  readonly claim: string | null;
  readonly read: OfSides<number> | null;
  readonly parts: number | null;
  readonly part: PartKey | null;
}

/** The name under which a task notes what is to be compared again, for the claim that holds it. */
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
  /** True where there were more differences than are kept. */
  readonly isOverflowing: boolean;
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
