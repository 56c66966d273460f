import type { SyncError } from '../../service/errors.ts';
import type { ClusterEvidence, CommitEvidence } from './commit-word.ts';

/** The clusters of a sync. */
export type ClusterRole = 'source' | 'destination';

type Asked = ClusterRole | `version of the ${ClusterRole}` | 'record';

type ProvenByAnswers = Pick<
  CommitEvidence,
  'source' | 'destination' | 'recordAgeMs' | 'commandsOnPrimary'
>;

/** When the answers were asked for that prove that a commit would be taken. Times are by a monotonic clock, in milliseconds. */
export class CommitProofs {
  readonly #now: () => number;
  readonly #askedMs = new Map<Asked, number>();
  readonly #versionRefusals = new Map<ClusterRole, SyncError>();
  #commandsOnPrimary: number | null = null;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** What was answered before proves nothing of the work that begins. */
  clear(): void {
    this.#askedMs.clear();
    this.#versionRefusals.clear();
    this.#commandsOnPrimary = null;
  }

  /** Runs a question, which proves something when it is answered: that it was so after it was asked. */
  async by<T>(what: Asked, ask: () => Promise<T>): Promise<T> {
    const askedMs = this.#now();
    const answer = await ask();
    this.#askedMs.set(what, Math.max(askedMs, this.#askedMs.get(what) ?? 0));
    return answer;
  }

  /** How many commands the record of the sync has counted on the destination's primary. */
  setCommandsOnPrimary(count: number): void {
    this.#commandsOnPrimary = count;
  }

  /** Why a commit would be refused for the featureCompatibilityVersion of a cluster, by its last answer; undefined for nothing. */
  setVersionRefusal(of: ClusterRole, refusal: SyncError | undefined): void {
    if (refusal) this.#versionRefusals.set(of, refusal);
    else this.#versionRefusals.delete(of);
  }

  /** The first of these. */
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
    const askedMs = this.#askedMs.get(what);
    return askedMs === undefined ? null : this.#now() - askedMs;
  }
}
