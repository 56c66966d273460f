import assert from 'node:assert/strict';
import type { Db, Document } from 'mongodb';
import { findDifferences, type Difference } from '../../ground/compare.ts';
import { fill, withIndexes } from './catalog-change-cases.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, holdCommands, slowCommands } from './slow-commands.ts';

/** Changes of collections whose names begin with `name`: what exists before, and what happens during the reading. */
interface ReadingCase {
  readonly before?: (db: Db, name: string) => Promise<unknown>;
  readonly change: (db: Db, name: string) => Promise<unknown>;
}

const createView = async (db: Db, view: string): Promise<void> => {
  await db.command({ create: view, viewOn: 'rows', pipeline: [{ $match: { n: 1 } }] });
};

const viewOn = async (db: Db, view: string, on: string, options: Document = {}): Promise<void> => {
  await db.command({ create: view, viewOn: on, pipeline: [], ...options });
};

const putOn = async (db: Db, view: string, on: string): Promise<void> => {
  await db.command({ collMod: view, viewOn: on, pipeline: [] });
};

const withOne = async (db: Db, name: string): Promise<void> => {
  await withIndexes(db, name);
};

const cases: Readonly<Record<string, ReadingCase>> = {
  'created, dropped, and a view there': {
    change: async (db, name) => {
      await fill(db, name);
      await db.dropCollection(name);
      await createView(db, name);
    },
  },
  'a view, a collection, a view': {
    before: createView,
    change: async (db, name) => {
      await db.dropCollection(name);
      await fill(db, name);
      await db.dropCollection(name);
      await createView(db, name);
      await db.command({ collMod: name, viewOn: 'others', pipeline: [] });
    },
  },
  'a view that was dropped before another came that would make a circle with it': {
    change: async (db, name) => {
      await viewOn(db, `${name}_a`, `${name}_b`);
      await db.dropCollection(`${name}_a`);
      await viewOn(db, `${name}_b`, `${name}_a`);
    },
  },
  'a view that was dropped before what it is on became a view of another collation': {
    change: async (db, name) => {
      await viewOn(db, `${name}_a`, `${name}_b`);
      await db.dropCollection(`${name}_a`);
      await viewOn(db, `${name}_b`, 'rows', { collation: { locale: 'fr' } });
    },
  },
  'views that were on each other, one after the other': {
    before: async (db, name) => {
      for (const view of ['a', 'b', 'c']) await viewOn(db, `${name}_${view}`, 'rows');
    },
    change: async (db, name) => {
      await putOn(db, `${name}_b`, 'others');
      await putOn(db, `${name}_a`, `${name}_b`);
      await putOn(db, `${name}_b`, `${name}_c`);
      await putOn(db, `${name}_a`, 'rows');
      await putOn(db, `${name}_c`, `${name}_a`);
    },
  },
  'a view, and a collection in its place': {
    before: createView,
    change: async (db, name) => {
      await db.dropCollection(name);
      await withIndexes(db, name);
    },
  },
  'a collection, and a view in its place': {
    before: withOne,
    change: async (db, name) => {
      await db.dropCollection(name);
      await createView(db, name);
    },
  },
  'dropped and created again, twice': {
    before: withOne,
    change: async (db, name) => {
      await db.dropCollection(name);
      await fill(db, name);
      await db.dropCollection(name);
      await withIndexes(db, name);
    },
  },
  'created, renamed, dropped, and a view at each name': {
    change: async (db, name) => {
      await fill(db, name);
      await db.renameCollection(name, `${name}_b`);
      await createView(db, name);
      await db.dropCollection(`${name}_b`);
      await createView(db, `${name}_b`);
    },
  },
  'created, renamed twice, and others at its former names': {
    change: async (db, name) => {
      await withIndexes(db, name);
      await db.renameCollection(name, `${name}_b`);
      await db.renameCollection(`${name}_b`, `${name}_c`);
      await fill(db, name, `${name}_b`);
      await db.collection(`${name}_c`).insertOne({ n: 100 });
    },
  },
  'renamed to and fro': {
    before: withOne,
    change: async (db, name) => {
      await db.renameCollection(name, `${name}_b`);
      await db.collection(`${name}_b`).insertOne({ n: 100 });
      await db.renameCollection(`${name}_b`, name);
    },
  },
  'two that swap their names': {
    before: async (db, name) => {
      await withIndexes(db, name);
      await fill(db, `${name}_b`);
    },
    change: async (db, name) => {
      await db.renameCollection(name, `${name}_c`);
      await db.renameCollection(`${name}_b`, name);
      await db.renameCollection(`${name}_c`, `${name}_b`);
      await db.collection(`${name}_b`).deleteOne({ n: 0 });
    },
  },
  'renamed over another, and created again': {
    before: async (db, name) => {
      await withIndexes(db, name, `${name}_b`);
    },
    change: async (db, name) => {
      await db.renameCollection(name, `${name}_b`, { dropTarget: true });
      await withIndexes(db, name);
      await db.renameCollection(name, `${name}_b`, { dropTarget: true });
      await fill(db, name);
    },
  },
  'renamed over one that was made meanwhile, and back': {
    before: withOne,
    change: async (db, name) => {
      await fill(db, `${name}_b`);
      await db.renameCollection(name, `${name}_b`, { dropTarget: true });
      await db.renameCollection(`${name}_b`, name);
      await fill(db, `${name}_b`);
      await db.dropCollection(`${name}_b`);
    },
  },
  'indexes created, dropped and changed': {
    before: withOne,
    change: async (db, name) => {
      const key = { m: 1 };
      await db.command({
        createIndexes: name,
        indexes: [{ key, name: 'm', unique: true, sparse: true }],
      });
      await db.command({ dropIndexes: name, index: ['m', 'unique'] });
      await db.command({ createIndexes: name, indexes: [{ key, name: 'm', hidden: true }] });
      await db.command({ collMod: name, index: { name: 'hidden', hidden: false } });
      await db.collection(name).insertOne({ n: 1, m: [1, 2] });
    },
  },
  'options changed, and converted to capped': {
    before: withOne,
    change: async (db, name) => {
      await db.command({ collMod: name, validator: { n: { $lt: 100 } } });
      await db.command({ collMod: name, validator: { n: { $lt: 200 } }, validationAction: 'warn' });
      await db.command({ convertToCapped: name, size: 4096 });
      await fill(db, name);
    },
  },
  'an index on a capped collection, in which a document was that it does not take': {
    before: async (db, name) => {
      await db.command({ create: name, capped: true, size: 100_000 });
      await fill(db, name);
    },
    change: async (db, name) => {
      const change = async (a: unknown): Promise<void> => {
        await db.collection(name).updateOne({ n: 1 }, { $set: { a, b: a } });
        await db.collection(name).replaceOne({ n: 2 }, { n: 2, a, b: a });
      };
      await change([1, 2]);
      await change(1);
      await db.command({ createIndexes: name, indexes: [{ key: { a: 1, b: 1 }, name: 'a, b' }] });
    },
  },
  'an index on a capped collection, which does not take what one of several documents was at first':
    {
      before: async (db, name) => {
        await db.command({ create: name, capped: true, size: 100_000 });
      },
      change: async (db, name) => {
        const arrays = { a: [1, 2], b: [1, 2] };
        await db.collection(name).insertMany([{ n: 1 }, { n: 2, ...arrays }, { n: 3 }]);
        await db.collection(name).updateOne({ n: 2 }, { $set: { a: 1, b: 1 } });
        await db.command({ createIndexes: name, indexes: [{ key: { a: 1, b: 1 }, name: 'a, b' }] });
      },
    },
  'documents changed, removed and put again': {
    before: async (db, name) => {
      await fill(db, name);
    },
    change: async (db, name) => {
      await db.collection(name).updateMany({}, { $inc: { n: 10 } });
      await db.collection(name).deleteMany({ n: { $gt: 12 } });
      await fill(db, name);
    },
  },
};

describe('changes of the source while its catalog is read', () => {
  const pair = useClusterPair({ parameters: canBeSlow });

  const moments = {
    'between the time of the start and its own': async () =>
      await slowCommands(pair.source, ['listDatabases'], 2_000),
    'between its time and the list of collections': async () =>
      await slowCommands(pair.source, ['listCollections'], 2_000),
    'between the list of collections and their indexes': async () =>
      await holdCommands(pair.source, 'listIndexes'),
  };

  for (const [moment, hold] of Object.entries(moments)) {
    describe(moment, () => {
      let differences: readonly Difference[];

      before(async () => {
        await pair.reset();
        const db = pair.source.client.db('data');
        const onEveryCase = async (step: keyof ReadingCase): Promise<void> => {
          await Promise.all(
            Object.values(cases).map(async (one, index) => await one[step]?.(db, `case${index}`)),
          );
        };
        await onEveryCase('before');
        await using syncer = await pair.syncer();
        {
          // The preconditions list collections as well: only what comes after the first delete is the reading.
          const begun = await holdCommands(pair.destination, 'delete');
          await syncer.start(forward);
          await begun.reached(1);
          await using held = await hold();
          await begun[Symbol.asyncDispose]();
          await held.reached(1);
          await onEveryCase('change');
        }
        await syncer.waitFor(({ canCommit }) => canCommit);
        await commitAndWait(syncer);
        differences = await findDifferences(
          pair.source.set.uri('admin'),
          pair.destination.set.uri('admin'),
        );
      });

      for (const [index, name] of Object.keys(cases).entries()) {
        it(name, () => {
          const own = differences.filter(({ namespace }) =>
            new RegExp(`^data\\.case${index}(_|$)`).test(namespace),
          );
          assert.deepEqual(own, []);
        });
      }
    });
  }
});
