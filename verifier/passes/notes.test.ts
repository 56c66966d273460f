import assert from 'node:assert/strict';
import type { NotedRecheck, Notes } from '../store/recheck-store.ts';
import type { Recheck } from '../store/records.ts';
import { changeNote, ChangeNotes, NotesOnRecord } from './notes.ts';

const recheck: Recheck = { kind: 'whole', namespace: { db: 'shop', coll: 'items' } };

function stored({ note, first, rechecks }: Notes): NotedRecheck[] {
  return rechecks.map((each, index) => ({ ...each, note, place: first + index }));
}

function someOf(count: number): Recheck[] {
  return Array.from({ length: count }, () => recheck);
}

/** Counts recorded notes. @returns how many were passed on. */
async function count(
  expected: ReadonlyMap<string, number>,
  onRecord: readonly NotedRecheck[],
  total = [...expected.values()].reduce((sum, each) => sum + each, 0),
): Promise<number> {
  const notes = new NotesOnRecord([{ by: 'found', total, counts: expected }]);
  const given = (async function* () {
    for (const each of onRecord) yield await Promise.resolve(each);
  })();
  let passed = 0;
  for await (const { place } of notes.counting(given)) passed += place >= 0 ? 1 : 0;
  notes.requireAll();
  return passed;
}

describe('NotesOnRecord', () => {
  const first = stored({ note: 'first', first: 0, rechecks: someOf(3) });
  const second = stored({ note: 'second', first: 0, rechecks: someOf(2) });
  const expected = new Map([
    ['first', 3],
    ['second', 2],
  ]);

  it('lets a pass be planned from all that was noted', async () => {
    assert.equal(await count(expected, [...second, ...first]), 5);
    assert.equal(await count(new Map(), []), 0);
  });

  it('misses any one', async () => {
    const all = [...first, ...second];
    for (const index of all.keys()) {
      await assert.rejects(count(expected, all.toSpliced(index, 1)), /found: 4 of 5 notes/);
    }
  });

  it('takes none of a dead process for one that is missing', async () => {
    const dead = stored({ note: 'dead', first: 0, rechecks: someOf(4) });
    assert.equal(await count(expected, [...first, ...second, ...dead]), 9);
    await assert.rejects(count(expected, [...first, ...dead]), /found: 3 of 5 notes/);
    const later = stored({ note: 'first', first: 3, rechecks: someOf(2) });
    await assert.rejects(count(expected, [...first.slice(1), ...second, ...later]), /4 of 5/);
  });

  it('misses those of a task that is gone itself', async () => {
    await assert.rejects(count(new Map([['first', 3]]), first, 5), /found: 3 of 5 notes/);
  });
});

describe('ChangeNotes', () => {
  it('numbers what is noted for each pass, and keeps what former coordinators have noted', () => {
    const former = [
      { generation: 1, epoch: 1, count: 7 },
      { generation: 2, epoch: 1, count: 4 },
    ];
    const notes = new ChangeNotes(2, former);
    const places = [notes.next(2, someOf(3)), notes.next(2, someOf(1)), notes.next(3, someOf(2))];
    assert.deepEqual(
      places.map((each) => [each.note, each.first]),
      [
        [changeNote({ generation: 2, epoch: 2 }), 0],
        [changeNote({ generation: 2, epoch: 2 }), 3],
        [changeNote({ generation: 3, epoch: 2 }), 0],
      ],
    );
    assert.deepEqual(notes.after(1), [
      { generation: 2, epoch: 1, count: 4 },
      { generation: 2, epoch: 2, count: 4 },
      { generation: 3, epoch: 2, count: 2 },
    ]);
  });
});
