import assert from 'node:assert/strict';
import { Binary, BSON, UUID, type Document } from 'mongodb';
import type { NamespaceInfo } from '../../mongo/catalog.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { idKey, keyBytes } from '../compare/id-key.ts';
import type { NamespacePair } from '../compare/namespace-pairs.ts';
import type { NotedRecheck } from '../store/recheck-store.ts';
import type { PassKind, Recheck, Task } from '../store/records.ts';
import { changeNote } from './notes.ts';
import {
  addIdTasks,
  databasesOf,
  planIdTasks,
  planTasks,
  readPending,
  type Plan,
  type PlanContext,
} from './plan-pass.ts';

function info(coll: string, options: Document = {}): NamespaceInfo {
  return { kind: 'collection', namespace: { db: 'shop', coll }, uuid: new UUID(), options };
}

function pair(coll: string, { capped = false, isAlone = false } = {}): NamespacePair {
  const there = info(coll, capped ? { capped } : {});
  return { namespace: there.namespace, source: there, destination: isAlone ? undefined : there };
}

async function plan(
  kind: PassKind,
  pairs: readonly NamespacePair[],
  rechecks: readonly Recheck[] = [],
  isOfAll = false,
): Promise<string[]> {
  const named = new Map(pairs.map((each) => [namespaceText(each.namespace), each]));
  const scope = { kind, isOfAll };
  const pending = await readPending(stream(rechecks));
  const tasks = Array.from(
    planTasks(scope, pending, named),
    (task) => `${task.work.kind} ${task.pair.namespace.coll}`,
  );
  const noted = stream(rechecks);
  for await (const { namespace, ids, isChanged } of planIdTasks(scope, pending, named, noted)) {
    tasks.push(`${ids.length} ids ${namespace.coll}${isChanged ? ', changed' : ''}`);
  }
  return tasks;
}

type Noted = Recheck & { readonly note: string };

async function* stream(
  rechecks: readonly (Recheck & { readonly note?: string })[],
): AsyncGenerator<Noted, void> {
  for (const recheck of rechecks) yield await Promise.resolve({ note: 'task:a:b', ...recheck });
}

function changed(coll: string, ...values: number[]): Noted {
  return { ...ids(coll, ...values), note: changeNote({ generation: 1, epoch: 1 }) };
}

function ids(coll: string, ...values: number[]): Recheck {
  const namespace = { db: 'shop', coll };
  const keys = values.map((_id) => new Binary(keyBytes(idKey(BSON.serialize({ _id })))));
  return { kind: 'ids', namespace, ids: keys };
}

const a = { db: 'shop', coll: 'a' };

describe('planTasks', () => {
  it('compares everything in the first pass; no documents of what is on one side', async () => {
    assert.deepEqual(await plan('first', [pair('a'), pair('b', { isAlone: true })]), [
      'metadata a',
      'collection a',
      'metadata b',
    ]);
  });

  it('compares what is pending in later ones', async () => {
    const pairs = [pair('a'), pair('b')];
    const all = ['metadata a', 'collection a'];
    assert.deepEqual(await plan('recheck', pairs), []);
    assert.deepEqual(await plan('recheck', pairs, [ids('a', 1)]), ['1 ids a']);
    assert.deepEqual(await plan('recheck', pairs, [{ kind: 'metadata', namespace: a }]), [
      'metadata a',
    ]);
    const whole: Recheck = { kind: 'whole', namespace: a };
    assert.deepEqual(await plan('recheck', pairs, [ids('a', 1), whole]), all);
    assert.deepEqual(await plan('recheck', pairs, [{ kind: 'database', db: 'shop' }]), [
      ...all,
      'metadata b',
      'collection b',
    ]);
    const alone = [pair('a', { isAlone: true })];
    assert.deepEqual(await plan('recheck', alone, [ids('a', 1)]), ['metadata a']);
  });

  it('compares all options and indexes, and the order of capped collections, in the last one', async () => {
    const pairs = [pair('a'), pair('b', { capped: true })];
    assert.deepEqual(await plan('last', pairs, [ids('a', 1), ids('b', 2)]), [
      'metadata a',
      'metadata b',
      'collection b',
      '1 ids a',
    ]);
  });

  it('compares everything in a last pass that is the first as well', async () => {
    assert.deepEqual(await plan('last', [pair('a')], [], true), ['metadata a', 'collection a']);
  });

  it('tells ids that have changed from those that a pass has found alone, and compares each once', async () => {
    const rechecks = [ids('a', 1, 2), changed('a', 2, 3), ids('a', 3, 4), changed('b', 5)];
    assert.deepEqual(await plan('recheck', [pair('a'), pair('b')], rechecks), [
      '2 ids a',
      '2 ids a, changed',
      '1 ids b, changed',
    ]);
  });

  it('compares ids once that were noted several times, at most 1000 together', async () => {
    const many = Array.from({ length: 50 }, (_, block) =>
      ids('a', ...Array.from({ length: 100 }, (__, n) => (block % 25) * 100 + n)),
    );
    assert.deepEqual(await plan('recheck', [pair('a')], many), [
      '1000 ids a',
      '1000 ids a',
      '500 ids a',
    ]);
  });
});

describe('addIdTasks', () => {
  const note = 'task:a:b';
  // Of a collection each, so that each makes a task; these are more than are added together.
  const notes = Array.from({ length: 45 }, (_, place): NotedRecheck => {
    return { ...ids(`items${place}`, place), note, place };
  });
  const pairs = new Map(notes.map((_, place) => [`shop.items${place}`, pair(`items${place}`)]));

  /** The tasks that are added, and how many it says there are, if these notes are on record by then. */
  async function added(onRecord: readonly NotedRecheck[]): Promise<[Task[], number]> {
    const tasks: Task[] = [];
    const stores = {
      tasks: {
        add: async (_: unknown, some: readonly Task[]) => {
          tasks.push(...(await Promise.resolve(some)));
        },
      },
      rechecks: { all: () => stream(onRecord) },
    } as unknown as PlanContext['stores'];
    const plan: Plan = {
      ...{ kind: 'recheck', isOfAll: false, key: { run: 'run', generation: 2, epoch: 1 } },
      notes: [
        { by: 'found by pass 1', total: notes.length, counts: new Map([[note, notes.length]]) },
      ],
    };
    const count = await addIdTasks(stores, plan, await readPending(stream(notes)), pairs);
    return [tasks, count];
  }

  it('adds all tasks, and counts them', async () => {
    const [tasks, count] = await added(notes);
    assert.equal(count, 45);
    assert.deepEqual(
      tasks.map(({ namespace }) => namespace.coll),
      notes.map((_, place) => `items${place}`),
    );
  });

  it('fails if a recheck is gone that was on record when the pass was planned', async () => {
    const expected = { name: 'CheckFailed', message: /found by pass 1: 44 of 45 notes/ };
    for (const index of [0, 19, 44]) {
      await assert.rejects(added(notes.toSpliced(index, 1)), expected);
    }
  });
});

describe('databasesOf', () => {
  it('is all in the first and the last pass, and those that wait in others', async () => {
    const pending = await readPending(
      stream([
        { kind: 'metadata', namespace: a },
        { kind: 'database', db: 'old' },
      ]),
    );
    const of = (kind: PassKind) => databasesOf({ kind, isOfAll: false }, pending);
    assert.equal(of('first'), 'all');
    assert.equal(of('last'), 'all');
    assert.deepEqual(of('recheck'), new Set(['old', 'shop']));
  });
});
