import assert from 'node:assert/strict';
import { Int32, type Db } from 'mongodb';
import { fill } from './catalog-change-cases.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';
import { raw, RawText, rawValue } from './raw-documents.ts';

/** A name that is not UTF-8; a driver shows it as `x` and the character for what cannot be read. */
const odd = new RawText(0x78, 0xff);
const shown = 'x\u{fffd}';

const rename = async (db: Db, from: string): Promise<void> => {
  const to = new RawText(...Buffer.from('data.x'), 0xff);
  await db.client.db('admin').command({ renameCollection: `data.${from}`, to: rawValue('to', to) });
};

const createOdd = async (db: Db): Promise<void> => {
  await db.command({ create: rawValue('create', odd) });
};

const createOddView = async (db: Db): Promise<void> => {
  await db.command({ create: rawValue('create', odd), viewOn: 'rows', pipeline: [] });
};

/** The answer names it, too. */
const dropOdd = async (db: Db): Promise<void> => {
  await db.command({ drop: rawValue('drop', odd) }, { enableUtf8Validation: false });
};

/** What has such a name, and what the error calls it. */
const named: Readonly<Record<string, readonly [what: string, make: (db: Db) => Promise<unknown>]>> =
  {
    'of a collection': [`data.${shown}`, createOdd],
    'of a view': [`data.${shown}`, createOddView],
    'of a renamed collection': [
      `data.${shown}`,
      async (db) => {
        await rename(db, 'other');
      },
    ],
    'of an index': [
      `the index ${shown} of data.rows`,
      async (db) => {
        const index = raw(['key', raw(['n', new Int32(1)])], ['name', odd]);
        await db.command({ createIndexes: 'rows', indexes: [rawValue('0', index)] });
      },
    ],
  };

describe('names that are not UTF-8', () => {
  const pair = useClusterPair();
  const data = (): Db => pair.source.client.db('data');

  beforeEach(async () => {
    await pair.reset();
    await fill(data(), 'rows');
    await fill(data(), 'other');
  });

  for (const [kind, [what, make]] of Object.entries(named)) {
    it(`${kind} are refused at the start`, async () => {
      await make(data());
      await using syncer = await pair.syncer();
      await assert.rejects(
        async () => {
          await syncer.start(forward);
          await syncer.waitFor(({ canCommit }) => canCommit);
        },
        new RegExp(`NameNotSupported.*${what}`),
      );
    });

    it(`${kind} stop a sync`, async () => {
      await using syncer = await pair.syncing();
      await make(data());
      await assert.rejects(
        async () => {
          await commitAndWait(syncer);
        },
        new RegExp(`NameNotSupported.*${what}`),
      );
    });
  }

  it('are skipped where they are excluded', async () => {
    await rename(data(), 'other');
    const excludeNamespaces = [{ database: 'data', collections: [shown] }];
    await using syncer = await pair.syncing({ excludeNamespaces });
    await dropOdd(data());
    await createOddView(data());
    await commitAndWait(syncer);
    await pair.assertEqual({ exclude: [`data.${shown}`] });
  });

  it('are skipped where they are gone again', async () => {
    await using syncer = await pair.syncing();
    await syncer.post('pause', {});
    await syncer.waitFor(({ state }) => state === 'PAUSED');
    for (const create of [createOdd, createOddView]) {
      await create(data());
      await dropOdd(data());
    }
    await syncer.post('resume', {});
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('are left behind by a rename', async () => {
    const from = new RawText(...Buffer.from('data.x'), 0xff);
    const rename = { renameCollection: rawValue('renameCollection', from), to: 'data.renamed' };
    await using syncer = await pair.syncing();
    await data().command({ insert: rawValue('insert', odd), documents: [{ n: 1 }, { n: 2 }] });
    await data().client.db('admin').command(rename);
    await data().collection('renamed').insertOne({ n: 3 });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('in options are kept as they are', async () => {
    const make = async (view: string): Promise<void> => {
      await data().command({ create: view, viewOn: rawValue('viewOn', odd), pipeline: [] });
    };
    await make('before');
    const text = raw(
      ['key', raw(['_fts', 'text'], ['_ftsx', new Int32(1)])],
      ['name', 'text'],
      ['weights', raw(['n', new Int32(1)])],
      ['language_override', odd],
    );
    await data().command({ createIndexes: 'rows', indexes: [rawValue('0', text)] });
    await using syncer = await pair.syncing();
    await make('during');
    await data().command({ createIndexes: 'other', indexes: [rawValue('0', text)] });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });
});
