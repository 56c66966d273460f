import type { ExpectedNotes } from './notes-on-record.ts';
import type { VerificationRecord } from '../store/records.ts';
import type { Notes } from '../store/recheck-store.ts';
import type { TaskStore } from '../store/task-store.ts';
import { changeNote } from './change-notes.ts';

/**
 * What has to be on record for a pass that is planned next, as those say who have noted it.
 * @param doubted - what a last pass has noted that did not prove all.
 */
export async function expectedNotes(
  tasks: TaskStore,
  { run, noted, generation: former }: VerificationRecord,
  doubted: Notes | undefined,
): Promise<ExpectedNotes[]> {
  const changes = noted
    .filter(({ generation }) => generation > (former?.number ?? -1))
    .map((each) => [changeNote(each), each.count] as const);
  const expected = [expectedFrom('told by the change streams', new Map(changes))];
  if (former) {
    const { number: generation, epoch } = former;
    const counts = await tasks.notes({ run, generation, epoch });
    const found = expectedFrom(`found by pass ${generation}`, counts);
    // Tasks may be gone since their pass was over, with what they have noted.
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
