import type { SyncError } from '../../service/errors.ts';
import { millisecondsBetween, momentNow, monotonicMs, type Moment } from '../../service/moment.ts';
import { commitObstaclePrefix } from '../../sync-api/syncer-answers.ts';
import { largeCollection } from '../store/left-index-store.ts';
import type { SyncView } from '../store/records.ts';

/** An answer counts if it was asked for at most this long ago: contract 2.2 promises what a commit request will do now. */
export const maxProofAgeMs = 3_000;

/** A commit may build indexes for this long; longer builds must come first. */
const maxIndexSeconds = 10;

/** The errors that refuse an index which conflicts with another until the commit has made that one unique. */
const refusedUntilCommit: readonly string[] = ['IndexOptionsConflict', 'IndexKeySpecsConflict'];

/** What a cluster has answered. */
export interface ClusterEvidence {
  /**
   * Since its answer: of the primary, or a majority of each shard; for a destination, a write that a majority has acknowledged.
   */
  readonly ageMs: number | null;
  /** Since its featureCompatibilityVersion was seen to be one with which a commit is accepted. */
  readonly versionAgeMs: number | null;
  /** Why a commit would be refused because of the version seen last; null if it would not. */
  readonly versionRefusal: string | null;
}

/** What this process has seen. Ages are those of the questions, in milliseconds; null if nothing was answered yet. */
export interface CommitEvidence {
  readonly source: ClusterEvidence;
  readonly destination: ClusterEvidence;
  /** Since the record of the sync was read as the destination's primary has it, acknowledged by a majority or not. */
  readonly recordAgeMs: number | null;
  /** The number of commands in that record; null if it was not read. */
  readonly commandsOnPrimary: number | null;
  /** How long a commit of this process has been on its way to the store with its outcome unknown; null for none. */
  readonly sentAgeMs: number | null;
  /** Whether a commit request is unanswered. */
  readonly isCommitInHand: boolean;
  /** Another command that is being carried out, after which a commit would be refused; null for none. */
  readonly otherCommand: string | null;
  /** What has failed for more than a few seconds and is retried, or waits for others: a commit would wait for it, too. */
  readonly retryWarnings: readonly string[];
  /** Indexes that the commit would have to build. */
  readonly leftIndexes: readonly LeftIndex[];
  /** Whether the process works on the sync: nothing from a previous process can still arrive. */
  readonly isWorking: boolean;
  /** Whether other instances work on the sync, which can be given a commit while this one is paused. */
  readonly isShared: boolean;
}

/** What progress reports about a commit. */
export interface CommitWord {
  /** A commit request will succeed. */
  readonly canCommit: boolean;
  /**
   * True from when a commit request arrives until it is refused or the commit is completed; false if it is proven that none is
   * under way; null if neither is known.
   */
  readonly commitUnderWay: boolean | null;
  /** What a commit waits for, or why it would not be accepted though the copy is complete. */
  readonly warnings: readonly string[];
}

/** The fields of the record that the report depends on: a majority has it, as this instance shows it. */
type CommitRecord = Pick<SyncView, 'state' | 'phase' | 'commandCount'> & {
  readonly reset?: SyncView['reset'];
  readonly source: Pick<SyncView['source'], 'name'>;
  readonly destination: Pick<SyncView['destination'], 'name'>;
};

/**
 * Reports what is proven about a commit.
 * @param others - the instances that have not been given a commit which others have; undefined if there is no such commit.
 */
export function commitWord(
  record: CommitRecord,
  evidence: CommitEvidence,
  others?: readonly string[],
): CommitWord {
  const { state, phase } = record;
  const nothing = { canCommit: false, warnings: [] };
  if (state === 'COMMITTED') return { ...nothing, commitUnderWay: false };
  if (state === 'COMMITTING') return { ...nothing, commitUnderWay: true };
  const waiting = unacknowledged(record, evidence);
  if (waiting !== undefined) return { ...nothing, commitUnderWay: true, warnings: [waiting] };
  const commitUnderWay = others !== undefined || isUnderWay(state, evidence);
  const toOthers =
    others === undefined
      ? []
      : [`commit: other instances have accepted it; send it to ${others.join(' and ')}, too`];
  const isReset = (record.reset ?? null) !== null;
  if (state !== 'RUNNING' || phase !== 'changes' || isReset || !evidence.isWorking)
    return { canCommit: false, commitUnderWay, warnings: toOthers };
  const { otherCommand } = evidence;
  const obstacles = [
    ...(otherCommand === null ? [] : [`${otherCommand} is being carried out`]),
    ...missingProofs(record, evidence),
    ...longIndexes(evidence),
    ...evidence.retryWarnings,
  ];
  return {
    canCommit: obstacles.length === 0,
    commitUnderWay,
    warnings: [...toOthers, ...obstacles.map((text) => `${commitObstaclePrefix}${text}`)],
  };
}

/** What a commit waits for that can no longer be taken back, and is not known to be accepted. */
function unacknowledged(
  { commandCount, destination }: CommitRecord,
  { sentAgeMs, commandsOnPrimary }: CommitEvidence,
): string | undefined {
  const isAhead = commandsOnPrimary !== null && commandsOnPrimary > commandCount;
  if (sentAgeMs === null && !isAhead) return undefined;
  return sentWarning('commit', sentAgeMs, destination.name);
}

/**
 * What a command waits for once it was sent to the store.
 * @param ageMs - since when; null if another process has sent it.
 * @param cluster - which holds the store.
 */
export function sentWarning(command: string, ageMs: number | null, cluster: string): string {
  const since = ageMs === null ? '' : ` ${Math.floor(ageMs / 1000)} s ago`;
  return `${command}: it was sent to the store${since} and cannot be undone: waiting until a majority of ${cluster} has it`;
}

function isUnderWay(
  state: 'RUNNING' | 'PAUSED',
  { isCommitInHand, isWorking, isShared, recordAgeMs }: CommitEvidence,
): boolean | null {
  if (isCommitInHand) return true;
  // A pause is accepted after every earlier command has ended, and this instance accepts no commit from then on.
  if (state === 'PAUSED') return isShared && !isFresh(recordAgeMs) ? null : false;
  return isWorking && isFresh(recordAgeMs) ? false : null;
}

function missingProofs(record: CommitRecord, evidence: CommitEvidence): string[] {
  const { name: source } = record.source;
  const { name: destination } = record.destination;
  return [
    missingOf(evidence.source, source, `${source} has not answered`),
    missingOf(
      evidence.destination,
      destination,
      `a majority of ${destination} has not acknowledged a write`,
    ),
    missing(evidence.recordAgeMs, `the state on ${destination} has not been read`),
  ].filter((text) => text !== undefined);
}

/** What is missing from a cluster: only one thing, as the rest follows from it. */
function missingOf(
  { ageMs, versionAgeMs, versionRefusal }: ClusterEvidence,
  cluster: string,
  silence: string,
): string | undefined {
  const version = `the featureCompatibilityVersion of ${cluster} has not been read`;
  return missing(ageMs, silence) ?? versionRefusal ?? missing(versionAgeMs, version);
}

/** Warns if the commit would spend a long or unknown time on builds of indexes that can be built before it. */
function longIndexes({ leftIndexes }: CommitEvidence): string[] {
  const left = leftIndexes.filter(
    ({ reason, isBuiltByCommitAlone }) =>
      !isBuiltByCommitAlone && !refusedUntilCommit.includes(reason),
  );
  const known = left.flatMap(({ expectedSeconds }) => expectedSeconds ?? []);
  const seconds = known.reduce((sum, each) => sum + each, 0);
  const what = `${left.length} ${left.length === 1 ? 'index' : 'indexes'} must be built first`;
  if (known.length < left.length) return [`${what}, which takes an unknown time`];
  return seconds > maxIndexSeconds ? [`${what}, which is expected to take ${seconds} s`] : [];
}

function missing(ageMs: number | null, what: string): string | undefined {
  if (isFresh(ageMs)) return undefined;
  return ageMs === null ? `${what} yet` : `${what} for ${Math.floor(ageMs / 1000)} s`;
}

function isFresh(ageMs: number | null): boolean {
  return ageMs !== null && ageMs < maxProofAgeMs;
}

/** An index that is left to the commit, as shown to users. */
export interface LeftIndex {
  /** `db.coll` on the destination. */
  readonly namespace: string;
  readonly name: string;
  /** As in its LeftIndexRecord. */
  readonly reason: string;
  /** How long the build is expected to take; null if unknown. */
  readonly expectedSeconds: number | null;
  /** Whether it is never built before the commit: an index of a capped collection. */
  readonly isBuiltByCommitAlone: boolean;
}

/** How many are listed at most; the rest is counted. */
const maxTold = 20;

/** The warnings about the indexes that are left to the commit. */
export function leftIndexWarnings(left: readonly LeftIndex[]): string[] {
  const told = left.slice(0, maxTold).map((index) => {
    const { namespace, name, reason, expectedSeconds, isBuiltByCommitAlone } = index;
    const unless = isBuiltByCommitAlone ? '' : ', unless it can be built earlier';
    const time =
      expectedSeconds === null
        ? 'the build time is unknown'
        : `the build is expected to take ${expectedSeconds} s`;
    return reason === largeCollection
      ? `index ${name} of ${namespace} is built while changes are applied: ${time}`
      : `index ${name} of ${namespace} is left to the commit${unless} (${reason}): ${time}`;
  });
  const more = left.length - told.length;
  return more > 0 ? [...told, `${more} more indexes are left`] : told;
}

/** The clusters of a sync. */
export type ClusterRole = 'source' | 'destination';

type Asked = ClusterRole | `version of the ${ClusterRole}` | 'record';

type ProvenByAnswers = Pick<
  CommitEvidence,
  'source' | 'destination' | 'recordAgeMs' | 'commandsOnPrimary'
>;

/**
 * When the answers that prove that a commit would be accepted were asked for. Their age includes the time
 * for which the process or its machine was stopped.
 */
export class CommitProofs {
  readonly #now: () => Moment;
  readonly #askedAt = new Map<Asked, Moment>();
  readonly #versionRefusals = new Map<ClusterRole, SyncError>();
  #commandsOnPrimary: number | null = null;

  constructor(now: () => Moment = momentNow) {
    this.#now = now;
  }

  /** Earlier answers prove nothing about new work. */
  clear(): void {
    this.#askedAt.clear();
    this.#versionRefusals.clear();
    this.#commandsOnPrimary = null;
  }

  /** Runs a question. Its answer proves that something was true after the question was asked. */
  async by<T>(what: Asked, ask: () => Promise<T>): Promise<T> {
    const askedAt = this.#now();
    const answer = await ask();
    const latest = this.#askedAt.get(what);
    if (!latest || monotonicMs(latest) < monotonicMs(askedAt)) this.#askedAt.set(what, askedAt);
    return answer;
  }

  /** Sets the number of commands in the sync's record on the destination's primary. */
  setCommandsOnPrimary(count: number): void {
    this.#commandsOnPrimary = count;
  }

  /**
   * Sets why a commit would be refused because of a cluster's featureCompatibilityVersion, by its last answer; undefined if it
   * would not.
   */
  setVersionRefusal(of: ClusterRole, refusal: SyncError | undefined): void {
    if (refusal) this.#versionRefusals.set(of, refusal);
    else this.#versionRefusals.delete(of);
  }

  /** The first of these refusals. */
  get versionRefusal(): SyncError | undefined {
    return this.#versionRefusals.get('source') ?? this.#versionRefusals.get('destination');
  }

  get evidence(): ProvenByAnswers {
    const clusterEvidence = (role: ClusterRole): ClusterEvidence => ({
      ageMs: this.#ageMs(role),
      versionAgeMs: this.#ageMs(`version of the ${role}`),
      versionRefusal: this.#versionRefusals.get(role)?.message ?? null,
    });
    return {
      source: clusterEvidence('source'),
      destination: clusterEvidence('destination'),
      recordAgeMs: this.#ageMs('record'),
      commandsOnPrimary: this.#commandsOnPrimary,
    };
  }

  #ageMs(what: Asked): number | null {
    const askedAt = this.#askedAt.get(what);
    return askedAt === undefined ? null : millisecondsBetween(askedAt, this.#now());
  }
}
