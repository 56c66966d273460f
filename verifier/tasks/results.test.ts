import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Binary, BSON } from 'mongodb';
import type { Comparison } from '../compare/compare-documents.ts';
import { idKey, keyBytes, type IdKey } from '../compare/id-key.ts';
import type { Notes } from '../store/recheck-store.ts';
import { taskNote, type ClaimedTask, type PassKind, type TaskEnd } from '../store/records.ts';
import { Results, type ResultStores } from './results.ts';
import type { Outcome } from './run-task.ts';

const namespace = { db: 'shop', coll: 'items' };
const nothing = { documents: 0, bytes: 0 };
const key: IdKey = idKey(BSON.serialize({ _id: 1 }));
const ids = [new Binary(keyBytes(key))];

const task: ClaimedTask = {
  namespace,
  work: { kind: 'ids', ids, isChanged: false },
  expected: nothing,
  ...{ key: 'task', claim: 'mine', claims: 1 },
};

/** What is stored of a task's outcome in a pass. */
class Stored {
  /** By the pass for which they are noted. */
  readonly notes = new Map<number, readonly Notes[]>();
  readonly ends: TaskEnd[] = [];
  /** In the order in which they were written. */
  readonly writes: string[] = [];
  readonly #refused: string | undefined;

  /** @param refused - the write that fails. */
  constructor(refused?: string) {
    this.#refused = refused;
  }

  async #write(what: string): Promise<void> {
    await nextTurn();
    if (what === this.#refused) throw new Error('refused');
    this.writes.push(what);
  }

  async of(kind: PassKind, outcome: Outcome): Promise<this> {
    const stores = {
      tasks: {
        end: async (ends: readonly TaskEnd[]) => {
          await this.#write('ends');
          this.ends.push(...ends);
        },
      },
      rechecks: {
        add: async (_: string, generation: number, notes: readonly Notes[]) => {
          await this.#write('rechecks');
          this.notes.set(generation, notes);
        },
      },
      mismatches: {
        add: async () => {
          await this.#write('mismatches');
        },
      },
    } as unknown as ResultStores;
    const results = new Results(stores, { run: 'run', generation: 4, epoch: 1 }, kind);
    await results.take(task, outcome);
    await results.flush();
    return this;
  }
}

function documents(found: Partial<Comparison>): Outcome {
  const comparison = { found: [], isOverflowing: false, compared: nothing, read: null, ...found };
  return { kind: 'documents', comparison };
}

const whole = { kind: 'whole', namespace };
const missing = { found: [{ kind: 'missingDocument' as const, id: key }] };

describe('Results', () => {
  const cases: readonly (readonly [string, Outcome, unknown])[] = [
    ['the whole namespace of a task that was disturbed', { kind: 'disturbed' }, whole],
    ['documents that differ', documents(missing), { kind: 'ids', namespace, ids }],
    ['all, if more differ than are known', documents({ ...missing, isOverflowing: true }), whole],
    ['all, if none of those that differ is known', documents({ isOverflowing: true }), whole],
  ];
  for (const [what, outcome, recheck] of cases) {
    it(`has the next pass compare ${what}, and counts that with the end of the task`, async () => {
      const { notes, ends } = await new Stored().of('recheck', outcome);
      const noted = [{ note: taskNote(task), first: 0, rechecks: [recheck] }];
      assert.deepEqual([...notes], [[5, noted]]);
      assert.deepEqual(
        ends.map(({ isFailed, noted: count }) => ({ isFailed, count })),
        [{ isFailed: true, count: 1 }],
      );
    });
  }

  it('records the end of a task after everything it has found, and not if that cannot be stored', async () => {
    const { writes } = await new Stored().of('recheck', documents(missing));
    assert.deepEqual(writes, ['mismatches', 'rechecks', 'ends']);
    for (const refused of ['mismatches', 'rechecks']) {
      const stored = new Stored(refused);
      await assert.rejects(stored.of('recheck', documents(missing)), { message: 'refused' });
      assert.deepEqual(stored.ends, []);
    }
  });

  it('records with the end of a task why it has not found all differences', async () => {
    const whyOf = async (outcome: Outcome): Promise<unknown> => {
      const { ends } = await new Stored().of('recheck', outcome);
      return ends.map(({ isDisturbed, isOverflowing }) => ({ isDisturbed, isOverflowing }));
    };
    const all = { isDisturbed: false, isOverflowing: false };
    assert.deepEqual(await whyOf(documents(missing)), [all]);
    assert.deepEqual(await whyOf({ kind: 'disturbed' }), [{ ...all, isDisturbed: true }]);
    const tooMany = documents({ ...missing, isOverflowing: true });
    assert.deepEqual(await whyOf(tooMany), [{ ...all, isOverflowing: true }]);
  });
});
