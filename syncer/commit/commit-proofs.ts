import type { CommitEvidence } from './commit-word.ts';

type Asked = 'source' | 'destination' | 'record';

/** When the answers were asked for that prove that a commit would be taken. Times are by a monotonic clock, in milliseconds. */
export class CommitProofs {
  readonly #now: () => number;
  readonly #askedMs = new Map<Asked, number>();
  #commandsOnPrimary: number | null = null;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** What was answered before proves nothing of the work that begins. */
  clear(): void {
    this.#askedMs.clear();
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

  get evidence(): Pick<
    CommitEvidence,
    'sourceAgeMs' | 'destinationAgeMs' | 'recordAgeMs' | 'commandsOnPrimary'
  > {
    return {
      sourceAgeMs: this.#ageMs('source'),
      destinationAgeMs: this.#ageMs('destination'),
      recordAgeMs: this.#ageMs('record'),
      commandsOnPrimary: this.#commandsOnPrimary,
    };
  }

  #ageMs(what: Asked): number | null {
    const askedMs = this.#askedMs.get(what);
    return askedMs === undefined ? null : this.#now() - askedMs;
  }
}
