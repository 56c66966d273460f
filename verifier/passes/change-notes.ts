import type { ChangeNote, Recheck } from '../store/records.ts';
import type { Notes } from '../store/recheck-store.ts';

/** The name under which a lead notes changes for a pass. */
export function changeNote({ generation, epoch }: Omit<ChangeNote, 'count'>): string {
  return `changes:${generation}:${epoch}`;
}

/** How much a lead has noted of the changes: it goes on record with the position that is after them. */
export class ChangeNotes {
  readonly #epoch: number;
  /** What former leads have noted. */
  readonly #former: readonly ChangeNote[];
  readonly #counts = new Map<number, number>();

  constructor(epoch: number, former: readonly ChangeNote[]) {
    this.#epoch = epoch;
    this.#former = former;
  }

  /** Names what is noted next. To be called once for what is then stored. */
  next(generation: number, rechecks: readonly Recheck[]): Notes {
    const first = this.#counts.get(generation) ?? 0;
    this.#counts.set(generation, first + rechecks.length);
    return { note: changeNote({ generation, epoch: this.#epoch }), first, rechecks };
  }

  /** What is noted for passes after this one. */
  after(generation: number): ChangeNote[] {
    const own = Array.from(this.#counts, ([noted, count]): ChangeNote => {
      return { generation: noted, epoch: this.#epoch, count };
    });
    return [...this.#former, ...own].filter(({ generation: noted }) => noted > generation);
  }
}
