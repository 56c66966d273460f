import assert from 'node:assert/strict';
import { Binary, BSON, Timestamp, UUID, type Collection, type Db, type Document } from 'mongodb';
import { RetryWarnings } from '../../../mongo/retry-warnings.ts';
import { createLogger } from '../../../service/logger.ts';
import { readCoverage, type PassCoverage } from '../../../verifier/passes/coverage.ts';
import { CoverageStore } from '../../../verifier/store/coverage-store.ts';
import { insertNew, type MetadataStore } from '../../../verifier/store/metadata-store.ts';
import { MismatchStore } from '../../../verifier/store/mismatch-store.ts';
import { RecheckStore } from '../../../verifier/store/recheck-store.ts';
import type {
  ClaimedTask,
  Coverage,
  Task,
  TaskEnd,
  TaskWork,
} from '../../../verifier/store/records.ts';
import { TaskStore } from '../../../verifier/store/task-store.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';

const namespace = { db: 'shop', coll: 'items' };
const nothing = { documents: 0, bytes: 0 };
const nothingCounted = {
  inserted: { source: 0, destination: 0 },
  deleted: { source: 0, destination: 0 },
};
const plan = { run: 'run', generation: 0, epoch: 1 };
const collection: Task = { namespace, work: { kind: 'collection' }, expected: nothing };

interface Named extends Document {
  readonly _id: number;
}

describe('verifier, the stores of the metadata', () => {
  const pair = useReplicaSetPair({ parameters: { enableTestCommands: 1 } });

  beforeEach(async () => {
    await db().dropDatabase();
  });

  function db(): Db {
    const client = pair.clients[1];
    assert.ok(client);
    return client.db('stores');
  }

  function store(): MetadataStore {
    return {
      db: db(),
      signal: new AbortController().signal,
      logger: createLogger('verifier', 'error', () => undefined),
      monitor: { retryWarnings: new RetryWarnings(), addRetry: () => undefined },
    };
  }

  async function claimOne(tasks: TaskStore, claim: string): Promise<ClaimedTask> {
    const [task, ...others] = await tasks.claim(plan, 1, { owner: `owner of ${claim}`, claim });
    assert.ok(task);
    assert.equal(others.length, 0);
    return task;
  }

  function parts(count: number): Task[] {
    const bound = (_id: number): Binary => new Binary(BSON.serialize({ _id }));
    return Array.from({ length: count }, (_, index): Task => {
      const min = index === 0 ? null : bound(index);
      const max = index === count - 1 ? null : bound(index + 1);
      const work: TaskWork = { kind: 'range', min, max };
      return { namespace, work, expected: nothing };
    });
  }

  function ended(task: ClaimedTask, more: Partial<TaskEnd> = {}): TaskEnd {
    return {
      task,
      isFailed: false,
      isMetadata: false,
      compared: nothing,
      read: { source: 1, destination: 1, hashed: 1 },
      parts: null,
      isOverflowing: false,
      isDisturbed: false,
      noted: 0,
      ...more,
    };
  }

  function partsOnRecord(): Promise<number> {
    return db()
      .collection('tasks')
      .countDocuments({ part: { $exists: true } });
  }

  describe('tasks', () => {
    it('keep the parts of a claim when an earlier one removes what it finds late', async () => {
      const admin = db().client.db('admin');
      const tasks = new TaskStore(store());
      await tasks.add(plan, [collection], 0);
      await claimOne(tasks, 'first');
      await tasks.releaseOthers(plan.run, []);
      const { count } = await admin.command({
        configureFailPoint: 'failCommand',
        mode: { times: 1 },
        data: {
          failCommands: ['delete'],
          namespace: 'stores.tasks',
          blockConnection: true,
          blockTimeMS: 8_000,
        },
      });
      const order: string[] = [];
      const held = claimOne(tasks, 'second').finally(() => order.push('removed'));
      const timesEntered = Number(count) + 1;
      await admin.command({ waitForFailPoint: 'failCommand', timesEntered, maxTimeMS: 60_000 });
      await tasks.releaseOthers(plan.run, []);
      const task = await claimOne(tasks, 'third');
      await tasks.split(plan, task, parts(3));
      order.push('split');
      await held;
      assert.deepEqual(order, ['split', 'removed']);
      assert.equal(await partsOnRecord(), 3);
    });

    it('lose the parts of a claim whose process has died', async () => {
      const tasks = new TaskStore(store());
      await tasks.add(plan, [collection], 0);
      await tasks.split(plan, await claimOne(tasks, 'dead'), parts(3));
      await tasks.releaseOthers(plan.run, []);
      // Its parts come first in the queue.
      const key = { ...plan, 'work.kind': 'range' };
      await db()
        .collection('tasks')
        .updateMany(key, { $set: { state: 'completed' } });
      await claimOne(tasks, 'living');
      assert.equal(await partsOnRecord(), 0);
    });

    it('are released of one process and pass, and end only for their next claim', async () => {
      const tasks = new TaskStore(store());
      const others = { ...plan, epoch: 2 };
      await tasks.add(plan, [collection, collection, collection], 0);
      await tasks.add(others, [collection], 0);
      const mine = await claimOne(tasks, 'mine');
      const theirs = await claimOne(tasks, 'theirs');
      await tasks.claim(others, 1, { owner: 'owner of mine', claim: 'mine' });
      await tasks.end([ended(await claimOne(tasks, 'ended'))]);
      await tasks.releaseOf(plan, 'owner of mine');
      const { added, processing, completed } = await tasks.counts(plan);
      assert.deepEqual({ added, processing, completed }, { added: 1, processing: 1, completed: 1 });
      assert.equal((await tasks.counts(others)).processing, 1);
      await tasks.end([ended(mine), ended(theirs)]);
      assert.equal((await tasks.counts(plan)).completed, 2);
      await tasks.end([ended(await claimOne(tasks, 'next'))]);
      assert.equal(await tasks.isOver(plan), true);
    });

    it('end only for the claim that holds them', async () => {
      const tasks = new TaskStore(store());
      await tasks.add(plan, [collection], 0);
      const dead = await claimOne(tasks, 'dead');
      await tasks.releaseOthers(plan.run, []);
      const living = await claimOne(tasks, 'living');
      await tasks.end([ended(dead)]);
      assert.equal(await tasks.isOver(plan), false);
      await tasks.end([ended(living, { isFailed: true })]);
      await tasks.end([ended(dead)]);
      const { completed, failed } = await tasks.counts(plan);
      assert.deepEqual({ completed, failed }, { completed: 0, failed: 1 });
    });

    it('take a repeated split for the same after a part of it was taken', async () => {
      const tasks = new TaskStore(store());
      await tasks.add(plan, [collection], 0);
      const task = await claimOne(tasks, 'mine');
      await tasks.split(plan, task, parts(3));
      await claimOne(tasks, 'other');
      await tasks.split(plan, task, parts(3));
      assert.equal(await partsOnRecord(), 3);
      assert.equal((await tasks.counts(plan)).processing, 2);
    });
  });

  describe('insertNew', () => {
    it('refuses another document under an _id that is taken', async () => {
      const named: Collection<Named> = db().collection('named');
      await insertNew(named, [{ _id: 1, name: 'one', state: 'added' }], ['name']);
      await named.updateOne({ _id: 1 }, { $set: { state: 'taken' } });
      const both: Named[] = [
        { _id: 1, name: 'one', state: 'added' },
        { _id: 2, name: 'two', state: 'added' },
      ];
      await insertNew(named, both, ['name']);
      assert.deepEqual(await named.find().sort({ _id: 1 }).toArray(), [
        { _id: 1, name: 'one', state: 'taken' },
        { _id: 2, name: 'two', state: 'added' },
      ]);
      const other = insertNew(named, [{ _id: 2, name: 'another' }], ['name']);
      await assert.rejects(other, /holds another document in named under the _id 2/);
      assert.equal(await named.countDocuments({ name: 'another' }), 0);
    });
  });

  describe('insertNew, beside others and failures', () => {
    const one: Named = { _id: 1, name: 'one' };

    it('inserts again what existed at the insert, and was deleted before it was read', async () => {
      const named: Collection<Named> = db().collection('named');
      await named.insertOne(one);
      await using find = await failOnce('find', { blockConnection: true, blockTimeMS: 3_000 });
      const inserting = insertNew(named, [one], ['name']);
      await find.reached();
      await named.deleteOne({ _id: 1 });
      await inserting;
      assert.deepEqual(await named.find().toArray(), [one]);
    });

    it('takes nothing for inserted that was refused for another reason, or that a majority may lack', async () => {
      const refusing = await db().createCollection<Named>('refusing', {
        validator: { name: 'another' },
      });
      await assert.rejects(insertNew(refusing, [one], ['name']), { code: 121 });
      const named: Collection<Named> = db().collection('named');
      await named.insertOne(one);
      const writeConcernError = { code: 64, errmsg: 'waiting for replication timed out' };
      await using failing = await failOnce('insert', { writeConcernError });
      const two: Named = { _id: 2, name: 'two' };
      await assert.rejects(insertNew(named, [one, two], ['name']), {
        name: 'MongoBulkWriteError',
        code: 64,
      });
      await failing.reached();
    });

    /** Lets the next one of such commands on the collection `named` fail, or wait. */
    async function failOnce(
      command: string,
      how: Document,
    ): Promise<AsyncDisposable & { reached(): Promise<void> }> {
      const admin = db().client.db('admin');
      const data = { failCommands: [command], namespace: 'stores.named', ...how };
      const configureFailPoint = 'failCommand';
      const { count } = await admin.command({ configureFailPoint, mode: { times: 1 }, data });
      return {
        async reached() {
          const timesEntered = Number(count) + 1;
          const waitForFailPoint = configureFailPoint;
          await admin.command({ waitForFailPoint, timesEntered, maxTimeMS: 60_000 });
        },
        async [Symbol.asyncDispose]() {
          await admin.command({ configureFailPoint, mode: 'off' });
        },
      };
    }
  });

  describe('readCoverage', () => {
    it('says of what a pass has read whether that was the last one, and what is missing', async () => {
      const tasks = new TaskStore(store());
      await tasks.add(plan, [collection], 0);
      await tasks.end([ended(await claimOne(tasks, 'mine'))]);
      const time = new Timestamp({ t: 1, i: 1 });
      const read = async (kind: 'first' | 'last', plannedTasks: number): Promise<PassCoverage> => {
        const generation = {
          ...{
            number: plan.generation,
            epoch: plan.epoch,
            kind,
            plannedTasks,
            isAgain: false,
            noted: null,
          },
          readAfter: { source: time, destination: time },
          comparedUpTo: null,
          startedAt: new Date(),
        };
        return await readCoverage({ ...store(), stores: { tasks } }, plan.run, generation);
      };
      for (const kind of ['first', 'last'] as const) {
        const { covered, problems } = await read(kind, 1);
        assert.deepEqual(problems, []);
        assert.deepEqual(
          covered.map(({ isOfLast, ranges }) => ({ isOfLast, ranges })),
          [{ isOfLast: kind === 'last', ranges: 1 }],
        );
      }
      assert.deepEqual((await read('first', 2)).problems, ['1 of its 2 tasks are on record']);
    });
  });

  describe('coverages', () => {
    function coverage(generation: number, count: number): Coverage {
      const read = { source: count, destination: count, hashed: count - 2 };
      return { namespace, generation, isOfLast: false, ranges: 1, read };
    }

    it('are those of the latest pass, whichever was stored last', async () => {
      const coverages = new CoverageStore(store());
      await coverages.add('run', [coverage(10, 7)]);
      await coverages.add('run', [coverage(9, 5), coverage(2, 3)]);
      await coverages.add(new UUID().toHexString(), [coverage(99, 1)]);
      const found = (await coverages.latest('run')).get('shop.items');
      assert.equal(found?.generation, 10);
      assert.deepEqual(found.read, { source: 7, destination: 7, hashed: 5 });
    });

    it('add up what came after the pass, and nothing before', async () => {
      const coverages = new CoverageStore(store());
      for (const [generation, inserted] of [
        [1, 100],
        [2, 10],
        [3, 1],
      ] as const) {
        const tally = {
          inserted: { source: inserted, destination: 3 * inserted },
          deleted: { source: 4 * inserted, destination: 2 * inserted },
        };
        await coverages.addTallies('run', generation, new Map([['shop.items', tally]]));
      }
      assert.deepEqual(await coverages.tallySince('run', namespace, 1), {
        inserted: { source: 11, destination: 33 },
        deleted: { source: 44, destination: 22 },
      });
    });

    it('are put together, and say the same since the latest that was read', async () => {
      const coverages = new CoverageStore(store());
      const other = { db: 'shop', coll: 'others' };
      const passes = 1_100;
      const adding = Array.from({ length: passes }, async (_, pass) => {
        const generation = pass + 1;
        const tally = {
          inserted: { source: generation, destination: 1 },
          deleted: { source: 2, destination: 2 * generation },
        };
        const tallies = ['shop.items', 'shop.others'].map((name) => [name, tally] as const);
        await coverages.addTallies('run', generation, new Map(tallies));
      });
      await Promise.all(adding);
      await coverages.addTallies('another', 7, new Map([['shop.items', nothingCounted]]));
      await coverages.add('run', [coverage(0, 5), { ...coverage(0, 6), namespace: other }]);
      await coverages.add('run', [coverage(40, 7)]);
      await coverages.add('run', [coverage(600, 8)]);
      const since = async (): Promise<unknown> => [
        await coverages.tallySince('run', namespace, 600),
        await coverages.tallySince('run', other, 0),
        await coverages.latest('run'),
      ];
      const before = await since();
      // Twice: what was folded once is folded again.
      for (let fold = 0; fold < 2; fold++) {
        await coverages.fold('run', passes - 1);
        assert.deepEqual(await since(), before);
        const left = await db().collection('tallies').find({ run: 'run' }).toArray();
        assert.deepEqual(
          left.map(({ name, generation }) => `${name} ${generation}`).toSorted(),
          ['items', 'others'].flatMap((name) =>
            [passes - 2, passes - 1, passes].map((each) => `shop.${name} ${each}`),
          ),
        );
        assert.equal(await db().collection('coverages').countDocuments({ run: 'run' }), 2);
      }
      assert.equal(await db().collection('tallies').countDocuments({ run: 'another' }), 1);
    });
  });

  it('deletes what ended runs have left, and nothing of a run that begins meanwhile', async () => {
    const tasks = new TaskStore(store());
    const add = async (run: string): Promise<void> => {
      await tasks.add({ ...plan, run }, [collection], 0);
    };
    for (const run of ['ended', 'living']) await add(run);
    await tasks.forgetRuns(async () => {
      await add('new');
      return ['living'];
    });
    const left = await db().collection('tasks').distinct('run');
    assert.deepEqual(left.sort(), ['living', 'new']);
    for (const [others, names] of [
      [new RecheckStore(store()), ['rechecks']],
      [new MismatchStore(store()), ['mismatches']],
      [new CoverageStore(store()), ['coverages', 'tallies']],
    ] as const) {
      const rows = ['ended', 'living'].map((run) => ({ run }));
      for (const name of names) await db().collection(name).insertMany(structuredClone(rows));
      await others.forgetRuns(async () => await Promise.resolve(['living']));
      for (const name of names)
        assert.deepEqual(await db().collection(name).distinct('run'), ['living'], name);
    }
  });
});
