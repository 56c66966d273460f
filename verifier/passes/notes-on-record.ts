import type { NotedRecheck } from '../store/recheck-store.ts';
import { notProven } from './not-proven.ts';

/** Rechecks that have to be on record, as those who have noted them have said. */
export interface ExpectedNotes {
  /** Who has noted them, for a message. */
  readonly by: string;
  /** How many there are all together. */
  readonly total: number;
  /** How many there are by their names. */
  readonly counts: ReadonlyMap<string, number>;
}

/**
 * Counts the rechecks that a pass is planned from. One that is lost would never be compared again, and what it is about would count as
 * equal: who notes rechecks says how many, on another record than the rechecks.
 */
export class NotesOnRecord {
  readonly #expected: readonly ExpectedNotes[];
  readonly #found: Map<string, number>[];

  constructor(expected: readonly ExpectedNotes[]) {
    this.#expected = expected;
    this.#found = expected.map(() => new Map<string, number>());
  }

  /** Passes rechecks on, and counts those that are expected. Others are those of a process that has died before it had said so. */
  async *counting(rechecks: AsyncIterable<NotedRecheck>): AsyncGenerator<NotedRecheck, void> {
    for await (const recheck of rechecks) {
      const { note, place } = recheck;
      for (const [index, { counts }] of this.#expected.entries()) {
        const found = this.#found[index];
        if (found && place < (counts.get(note) ?? 0)) found.set(note, (found.get(note) ?? 0) + 1);
      }
      yield recheck;
    }
  }

  /** @throws SyncError CheckFailed where something is missing, with the numbers. */
  requireAll(): void {
    const reasons = this.#expected.flatMap(({ by, total }, index) => {
      const found = [...(this.#found[index]?.values() ?? [])].reduce((sum, each) => sum + each, 0);
      return found === total ? [] : [`${by}: ${found} of ${total} notes are on record`];
    });
    if (reasons.length > 0)
      throw notProven('what is to be compared again is not all known', reasons);
  }
}
