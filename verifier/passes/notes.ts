import type { NotedRecheck, Notes } from '../store/recheck-store.ts';
import type { ChangeNote, Recheck, VerificationRecord } from '../store/records.ts';
import type { TaskStore } from '../store/task-store.ts';
import { NotProven } from './prove.ts';

/** The name under which a coordinator notes changes for a pass. */
export function changeNote({ generation, epoch }: Omit<ChangeNote, 'count'>): string {
  return `changes:${generation}:${epoch}`;
}

/** Whether a name is that of changes. */
export function isChangeNote(note: string): boolean {
  return note.startsWith('changes:');
}

/** How much of the changes a coordinator has noted: recorded with the position after them. */
export class ChangeNotes {
  readonly #epoch: number;
  /** What previous coordinators have noted. */
  readonly #former: readonly ChangeNote[];
  readonly #counts = new Map<number, number>();

  constructor(epoch: number, former: readonly ChangeNote[]) {
    this.#epoch = epoch;
    this.#former = former;
  }

  /** Names what is noted next. Call once for what is then stored. */
  next(generation: number, rechecks: readonly Recheck[]): Notes {
    const first = this.#counts.get(generation) ?? 0;
    this.#counts.set(generation, first + rechecks.length);
    return { note: changeNote({ generation, epoch: this.#epoch }), first, rechecks };
  }

  /** What is noted for passes after this one. */
  after(generation: number): ChangeNote[] {
    // One for each pass would be millions after weeks.
    for (const noted of this.#counts.keys()) if (noted < generation) this.#counts.delete(noted);
    const own = Array.from(this.#counts, ([noted, count]): ChangeNote => {
      return { generation: noted, epoch: this.#epoch, count };
    });
    return [...this.#former, ...own].filter(({ generation: noted }) => noted > generation);
  }
}

/** Rechecks that must be on record, according to those that noted them. */
export interface ExpectedNotes {
  /** Who has noted them, for a message. */
  readonly by: string;
  /** Their total number. */
  readonly total: number;
  /** Their number by name. */
  readonly counts: ReadonlyMap<string, number>;
}

/**
 * What must be on record for the pass that is planned next, according to those that noted it.
 * @param doubted - what a last pass has noted that did not prove everything.
 */
export async function expectedNotes(
  tasks: TaskStore,
  { run, noted, generation: former }: VerificationRecord,
  doubted: Notes | undefined,
): Promise<ExpectedNotes[]> {
  const changes = noted
    .filter(({ generation }) => generation > (former?.number ?? -1))
    .map((each) => [changeNote(each), each.count] as const);
  const expected = [expectedFrom('seen by the change streams', new Map(changes))];
  if (former) {
    const { number: generation, epoch } = former;
    const counts = await tasks.notes({ run, generation, epoch });
    const found = expectedFrom(`found by pass ${generation}`, counts);
    // Tasks, and the counts in them, may have been deleted since their pass ended.
    expected.push({ ...found, total: former.noted ?? found.total });
  }
  if (doubted) {
    const counts = new Map([[doubted.note, doubted.rechecks.length]]);
    expected.push(expectedFrom('not proven by the last pass', counts));
  }
  return expected;
}

function expectedFrom(by: string, counts: ReadonlyMap<string, number>): ExpectedNotes {
  return { by, counts, total: [...counts.values()].reduce((sum, each) => sum + each, 0) };
}

/**
 * Counts the rechecks from which a pass is planned. A lost one would never be compared again, and its documents would count as
 * equal: so their number is stored by the one that notes them, in another record.
 */
export class NotesOnRecord {
  readonly #expected: readonly ExpectedNotes[];
  readonly #found: Map<string, number>[];

  constructor(expected: readonly ExpectedNotes[]) {
    this.#expected = expected;
    this.#found = expected.map(() => new Map<string, number>());
  }

  /** Passes rechecks on, and counts the expected ones. Others are from a process that died before it recorded their number. */
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

  /** @throws SyncError CheckFailed if something is missing, with the numbers. */
  requireAll(): void {
    const reasons = this.#expected.flatMap(({ by, total }, index) => {
      const found = [...(this.#found[index]?.values() ?? [])].reduce((sum, each) => sum + each, 0);
      return found === total ? [] : [`${by}: ${found} of ${total} notes are on record`];
    });
    if (reasons.length > 0)
      throw new NotProven('the documents to recheck are not all known', reasons);
  }
}
