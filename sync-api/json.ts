import type * as syncer from './generated/syncer.ts';
import type * as verifier from './generated/verifier.ts';

/** A value that its holder must not change. */
type Immutable<T> = T extends object ? { readonly [Field in keyof T]: Immutable<T[Field]> } : T;

/*
 * The JSON of the two HTTP APIs, exactly as the OpenAPI documents have it: what our own programs take and answer. What another
 * tool answers is read by the lenient readers of this folder.
 */

/** Body of POST /start of a syncer. */
export type StartBody = Immutable<syncer.StartBody>;

/** Body of POST /limits of a syncer, and `limits` of a start. */
export type Limits = Immutable<syncer.Limits>;

/** Body of POST /reset of a syncer. */
export type RepairBody = Immutable<syncer.RepairBody>;
export type ResetBody = Immutable<syncer.ResetBody>;

/** Answer to an accepted command, of both programs. */
export type Success = Immutable<syncer.Success>;

/** Answer to a refused or failed command, or a failed query; of both programs. */
export type Failure = Immutable<syncer.Failure>;

/** Answer of GET /progress without a progress, of both programs. */
export type ProgressFailure = Immutable<syncer.ProgressFailure>;

/** Answer to POST /check of a syncer. */
export type CheckAnswer = Immutable<syncer.CheckAnswer>;

/** What POST /check of a syncer has found. */
export type CheckFinding = Immutable<syncer.CheckFinding>;

/** Answer of GET /progress of a syncer. */
export type SyncerProgressAnswer = Immutable<syncer.ProgressAnswer>;

/** `progress` of a syncer that has a sync. */
export type SyncProgress = Immutable<syncer.SyncProgress>;

/** Answer of GET /topology of a syncer. */
export type TopologyAnswer = Immutable<syncer.TopologyAnswer>;

/** Answer of GET /collections of a syncer. */
export type CollectionPage = Immutable<syncer.CollectionPage>;

/** Answer of GET /progress of a verifier. */
export type VerifierProgressAnswer = Immutable<verifier.ProgressAnswer>;

/** `progress` of a verifier. */
export type VerificationProgress = Immutable<verifier.VerificationProgress>;

/** Answer to POST /writesOff of a verifier that knew it. */
export type WritesOffAlready = Immutable<verifier.WritesOffAlready>;

/** A difference, as a verifier reports it. */
export type Mismatch = Immutable<verifier.Mismatch>;

/** Answer of GET /mismatches of a verifier. */
export type MismatchPage = Immutable<verifier.MismatchPage>;

/** Answer of GET /namespaces of a verifier. */
export type NamespacePage = Immutable<verifier.NamespacePage>;

/** A line of GET /docMismatches of a verifier. */
export type DocMismatch = Immutable<verifier.DocMismatch>;

/** A line of GET /nsMismatches of a verifier. */
export type NsMismatch = Immutable<verifier.NsMismatch>;

/** Answer of GET /summary of a verifier. */
export type MismatchSummary = Immutable<verifier.MismatchSummary>;
