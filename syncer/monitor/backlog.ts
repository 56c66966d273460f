import type { Timestamp } from 'mongodb';
import { isAtMost } from '../../mongo/cluster-time.ts';

/** Which changes are being applied, in mongosync's words: those made during the copy, or those made since then. */
export type ChangeStage = 'collection copy drain' | 'steady state';

/**
 * The changes that were made before a process began to apply them. Only a process that saw the copy end knows that they are of the
 * copy; another one knows when they are applied, and nothing before that.
 */
export class Backlog {
  #begun: { readonly isOfCopy: boolean; readonly until: Timestamp | null } | null = null;

  begin(isOfCopy: boolean): void {
    this.#begun = { isOfCopy, until: null };
  }

  clear(): void {
    this.#begun = null;
  }

  /** The source has answered that its latest write is at this time: the first answer ends the backlog. */
  reaches(time: Timestamp): void {
    if (this.#begun?.until === null) this.#begun = { ...this.#begun, until: time };
  }

  /** @param appliedTime - changes up to here are applied. */
  stageAt(appliedTime: Timestamp | null): ChangeStage | null {
    if (this.#begun === null) return null;
    const { isOfCopy, until } = this.#begun;
    const isApplied = until !== null && appliedTime !== null && isAtMost(until, appliedTime);
    if (isApplied) return 'steady state';
    return isOfCopy ? 'collection copy drain' : null;
  }
}
