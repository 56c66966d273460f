import assert from 'node:assert/strict';
import type { Db } from 'mongodb';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, namespacesOf, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, holdCommands } from './slow-commands.ts';

/** What a sync with a filter leaves on the destination. */
interface FilterCase {
  readonly filter: object;
  readonly existing: readonly string[];
  /** Created during the sync. */
  readonly created: readonly string[];
  readonly expected: readonly string[];
}

const cases: Readonly<Record<string, FilterCase>> = {
  'include: a database alone, all its collections': {
    filter: { includeNamespaces: [{ database: 'sales' }] },
    existing: ['sales.a', 'sales.b.c', 'Sales2.a', 'hr.a'],
    created: ['sales.new', 'hr.new', 'sales3.new'],
    expected: ['sales.a', 'sales.b.c', 'sales.new'],
  },
  'include: listed collections, whole names that may not exist yet': {
    filter: {
      includeNamespaces: [
        { database: 'sales', collections: ['a', 'b.c', 'new'] },
        { database: 'hr' },
      ],
    },
    existing: ['sales.a', 'sales.ab', 'sales.A', 'sales.b.c', 'sales.b', 'hr.x', 'misc.a'],
    created: ['sales.new', 'sales.new2', 'hr.y', 'misc.new'],
    expected: ['sales.a', 'sales.b.c', 'sales.new', 'hr.x', 'hr.y'],
  },
  'include: two entries of the same database add up': {
    filter: {
      includeNamespaces: [
        { database: 'sales', collections: ['a'] },
        { database: 'sales', collectionsRegex: { pattern: '^b' } },
      ],
    },
    existing: ['sales.a', 'sales.b1', 'sales.c'],
    created: ['sales.b2', 'sales.d'],
    expected: ['sales.a', 'sales.b1', 'sales.b2'],
  },
  'include: a pattern is not anchored, and case-sensitive': {
    filter: { includeNamespaces: [{ database: 'sales', collectionsRegex: { pattern: 'ord' } }] },
    existing: ['sales.orders', 'sales.reordered', 'sales.Orders', 'sales.items', 'hr.orders'],
    created: ['sales.myord', 'sales.ORD'],
    expected: ['sales.orders', 'sales.reordered', 'sales.myord'],
  },
  'include: a pattern with i, and one with anchors': {
    filter: {
      includeNamespaces: [
        { database: 'sales', collectionsRegex: { pattern: 'ord', options: 'i' } },
        { database: 'hr', collectionsRegex: { pattern: '^a+$' } },
      ],
    },
    existing: ['sales.ORDERS', 'sales.myOrd', 'sales.items', 'hr.aa', 'hr.ab'],
    created: ['sales.oRd', 'hr.a', 'hr.ba'],
    expected: ['sales.ORDERS', 'sales.myOrd', 'sales.oRd', 'hr.aa', 'hr.a'],
  },
  'include: a pattern of PCRE that JavaScript has not': {
    filter: {
      includeNamespaces: [
        {
          database: 'sales',
          collectionsRegex: { pattern: '^(?>a|ab)c$|^(?i)X|(?#no)^\\Qp.q\\E$' },
        },
      ],
    },
    existing: ['sales.ac', 'sales.abc', 'sales.xy', 'sales.Xz', 'sales.p.q', 'sales.paq'],
    created: ['sales.x'],
    expected: ['sales.ac', 'sales.xy', 'sales.Xz', 'sales.p.q', 'sales.x'],
  },
  'include: a pattern of databases': {
    filter: { includeNamespaces: [{ databaseRegex: { pattern: '^tenant_\\d+$' } }] },
    existing: ['tenant_1.a', 'tenant_x.a', 'other.a'],
    created: ['tenant_22.a', 'my_tenant_3.a'],
    expected: ['tenant_1.a', 'tenant_22.a'],
  },
  'exclude: a database, collections, patterns': {
    filter: {
      excludeNamespaces: [
        { database: 'hr' },
        { database: 'sales', collections: ['secret', 'b.c'] },
        { database: 'sales', collectionsRegex: { pattern: '^tmp_' } },
        { databaseRegex: { pattern: 'TEST', options: 'i' }, collections: ['x'] },
      ],
    },
    existing: ['hr.a', 'sales.a', 'sales.secret', 'sales.b.c', 'sales.b', 'mytest.x', 'mytest.y'],
    created: ['hr.new', 'sales.tmp_1', 'sales.my_tmp_1', 'test2.x', 'test2.z', 'new.a'],
    expected: ['sales.a', 'sales.b', 'sales.my_tmp_1', 'mytest.y', 'test2.z', 'new.a'],
  },
  'include and exclude: what is included, without what is excluded': {
    filter: {
      includeNamespaces: [{ database: 'sales' }, { database: 'hr', collections: ['a', 'b'] }],
      excludeNamespaces: [
        { database: 'sales', collectionsRegex: { pattern: '_old$' } },
        { database: 'hr', collections: ['b'] },
        { database: 'misc' },
      ],
    },
    existing: ['sales.a', 'sales.a_old', 'hr.a', 'hr.b', 'hr.c', 'misc.a', 'other.a'],
    created: ['sales.b', 'sales.b_old', 'misc.b'],
    expected: ['sales.a', 'sales.b', 'hr.a'],
  },
};

describe('contract 2.3 and 4.1 rule 4: namespace filters', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
  });

  const source = (db: string): Db => pair.source.client.db(db);

  const insert = async (namespace: string, n: number): Promise<void> => {
    const dot = namespace.indexOf('.');
    await source(namespace.slice(0, dot))
      .collection(namespace.slice(dot + 1))
      .insertOne({ n });
  };

  for (const [what, { filter, existing, created, expected }] of Object.entries(cases)) {
    it(what, async () => {
      for (const namespace of existing) await insert(namespace, 1);
      await using syncer = await pair.syncing(filter);
      const during = await namespacesOf(pair.destination);
      assert.deepEqual(during, existing.filter((name) => expected.includes(name)).sort());
      for (const namespace of [...existing, ...created]) await insert(namespace, 2);
      await commitAndWait(syncer);
      assert.deepEqual(await namespacesOf(pair.destination), [...expected].sort());
      const unselected = [...existing, ...created].filter((name) => !expected.includes(name));
      await pair.assertEqual({ exclude: unselected });
    });
  }

  it('estimatedTotalBytes is of the selected namespaces alone', async () => {
    await source('sales')
      .collection('a')
      .insertOne({ text: 'x'.repeat(1000) });
    await source('hr')
      .collection('a')
      .insertOne({ text: 'x'.repeat(5000) });
    await using syncer = await pair.syncing({ includeNamespaces: [{ database: 'sales' }] });
    const { size } = await source('sales').command({ collStats: 'a' });
    assert.equal((await syncer.progress()).collectionCopy?.estimatedTotalBytes, size);
  });

  it('the log tells what each entry means when the sync starts', async () => {
    for (const name of ['sales.orders', 'sales.secret', 'hr.people']) await insert(name, 1);
    await using syncer = await pair.syncing({
      includeNamespaces: [{ databaseRegex: { pattern: '^sal' } }, { database: 'sael' }],
      excludeNamespaces: [{ database: 'sales', collections: ['secret'] }],
    });
    const log = await syncer.log();
    for (const text of [
      'includeNamespaces[0] means sales.orders, sales.secret',
      'includeNamespaces[1] matches nothing',
      'excludeNamespaces[0] means sales.secret',
    ])
      assert.ok(log.includes(`"${text}"`), `${text}: ${log}`);
  });

  it('views are selected by their names', async () => {
    for (const name of ['a', 'b'])
      await source('sales').command({ create: name, viewOn: 'rows', pipeline: [] });
    await using syncer = await pair.syncing({
      includeNamespaces: [{ database: 'sales', collections: ['a', 'rows', 'late'] }],
    });
    await source('sales').command({ create: 'late', viewOn: 'rows', pipeline: [] });
    await source('sales').command({ create: 'later', viewOn: 'rows', pipeline: [] });
    await insert('sales.rows', 1);
    await commitAndWait(syncer);
    assert.deepEqual(await namespacesOf(pair.destination), ['sales.a', 'sales.late', 'sales.rows']);
    await pair.assertEqual({ exclude: ['sales.b', 'sales.later'] });
  });

  const renames = {
    'after the copy': async (syncer: SyncerProcess, change: () => Promise<void>) => {
      await syncer.waitFor(({ canCommit }) => canCommit);
      await change();
    },
    'during the copy': async (_: SyncerProcess, change: () => Promise<void>) => {
      await change();
    },
  };
  for (const [when, at] of Object.entries(renames)) {
    it(`renamed out of the filter: dropped, with a warning; renamed in: copied (${when})`, async () => {
      const sales = source('sales');
      for (const name of ['in_leaves', 'in_stays', 'in_back', 'outside', 'other', 'to_and_fro']) {
        await sales.collection(name).insertMany([{ n: 1 }, { n: 2 }]);
        await sales.command({ createIndexes: name, indexes: [{ key: { n: 1 }, name: 'n' }] });
      }
      await using syncer = await pair.syncer();
      const held = await holdCommands(pair.destination, 'insert');
      if (when === 'after the copy') await held[Symbol.asyncDispose]();
      await syncer.start({
        ...forward,
        includeNamespaces: [{ database: 'sales', collectionsRegex: { pattern: '^in_' } }],
      });
      if (when === 'during the copy') await held.reached(3);
      await at(syncer, async () => {
        await sales.renameCollection('in_leaves', 'left');
        await sales.collection('left').insertOne({ n: 3 });
        await sales.renameCollection('outside', 'in_comes');
        await sales.collection('in_comes').insertOne({ n: 3 });
        await sales.collection('in_comes').deleteOne({ n: 1 });
        await sales.renameCollection('other', 'in_stays', { dropTarget: true });
        await sales.collection('other').insertOne({ n: 1 });
        await sales
          .collection('other')
          .aggregate([{ $out: 'in_out' }])
          .toArray();
        await sales.renameCollection('in_back', 'back');
        await sales.command({ dropIndexes: 'back', index: 'n' });
        await sales.collection('back').updateOne({ n: 1 }, { $set: { n: 10 } });
        await sales.renameCollection('back', 'in_back');
        await sales.collection('in_back').updateOne({ n: 2 }, { $set: { n: 20 } });
        await sales.renameCollection('to_and_fro', 'in_to_and_fro');
        await sales.renameCollection('in_to_and_fro', 'to_and_fro');
      });
      await held[Symbol.asyncDispose]();
      await syncer.waitFor(({ canCommit }) => canCommit);
      await commitAndWait(syncer);
      const expected = ['in_back', 'in_comes', 'in_out', 'in_stays'].map((name) => `sales.${name}`);
      assert.deepEqual(await namespacesOf(pair.destination), expected);
      await pair.assertEqual({ exclude: ['sales.left', 'sales.other', 'sales.to_and_fro'] });
      const { warnings } = await syncer.progress();
      for (const [from, to] of [
        ['in_leaves', 'left'],
        ['in_back', 'back'],
      ])
        assert.match(String(warnings), new RegExp(`sales\\.${from} .*sales\\.${to}.*dropped`));
    });
  }

  it('what the server keeps in a database is left alone, even when it is named', async () => {
    const sales = source('sales');
    const functions = sales.collection<{ _id: string; value: number }>('system.js');
    await functions.insertOne({ _id: 'one', value: 1 });
    await sales.command({ profile: 2 });
    await insert('sales.a', 1);
    const collections = ['a', 'v', 'late', 'system.js', 'system.profile', 'system.views'];
    await using syncer = await pair.syncing({
      includeNamespaces: [
        { database: 'sales', collections },
        { database: 'admin' },
        { databaseRegex: { pattern: '^(local|config)$' } },
      ],
    });
    await functions.insertOne({ _id: 'two', value: 2 });
    await sales.command({ create: 'v', viewOn: 'a', pipeline: [] });
    await sales.command({ create: 'late', viewOn: 'system.js', pipeline: [] });
    await sales.command({ profile: 0 });
    await source('admin').collection('mine').insertOne({ n: 1 });
    await insert('sales.a', 2);
    await functions.deleteMany({});
    await commitAndWait(syncer);
    await source('admin').collection('mine').drop();
    assert.deepEqual(await namespacesOf(pair.destination), ['sales.a', 'sales.late', 'sales.v']);
    assert.equal(await pair.destination.client.db('admin').collection('mine').countDocuments(), 0);
    await pair.assertEqual({ exclude: ['sales.system.js'] });
  });

  it('the filter of a sync that runs is not changed: start says what differs, also after a restart', async () => {
    await insert('sales.a', 1);
    await insert('hr.a', 1);
    const before = { includeNamespaces: [{ database: 'sales' }] };
    const after = { includeNamespaces: [{ database: 'sales' }, { database: 'hr' }] };
    await using syncer = await pair.syncing(before);
    for (const step of ['while it runs', 'after a restart'] as const) {
      if (step === 'after a restart') {
        await syncer.kill();
        await syncer.restart();
      }
      const { status, body } = await syncer.post('start', { ...forward, ...after });
      assert.deepEqual([status, body['error']], [409, 'DifferentSync']);
      const text = String(body['errorDescription']);
      assert.match(text, /includeNamespaces was .*"sales".*, and is .*"hr".* here/);
    }
    await insert('hr.b', 1);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    assert.deepEqual(await namespacesOf(pair.destination), ['sales.a']);
  });

  it('a collection moved between a selected and another database', async () => {
    await insert('sales.a', 1);
    await insert('hr.a', 1);
    await using syncer = await pair.syncing({ includeNamespaces: [{ database: 'sales' }] });
    const admin = pair.source.client.db('admin');
    await admin.command({ renameCollection: 'sales.a', to: 'hr.b' });
    await admin.command({ renameCollection: 'hr.a', to: 'sales.b' });
    await insert('sales.b', 2);
    await commitAndWait(syncer);
    assert.deepEqual(await namespacesOf(pair.destination), ['sales.b']);
    await pair.assertEqual({ exclude: ['hr'] });
  });

  // What it tries doubles with each letter of a name: PCRE gives up.
  const endless = { pattern: '^(([a-z])+.)+[A-Z]([a-z])+$' };
  const undecided = `sales.${'a'.repeat(60)}`;
  for (const [field, entry] of [
    ['includeNamespaces', { database: 'sales', collectionsRegex: endless }],
    ['excludeNamespaces', { databaseRegex: { pattern: '^s' }, collectionsRegex: endless }],
  ] as const) {
    it(`${field}: a pattern that the server cannot decide is refused by name, and later stops the sync`, async () => {
      await insert('sales.short', 1);
      await insert(undecided, 1);
      await using syncer = await pair.syncer();
      const body = { ...forward, [field]: [entry] };
      const { status, body: answer } = await syncer.post('start', body);
      assert.deepEqual([status, answer['error']], [400, 'InvalidNamespaceFilter']);
      assert.ok(String(answer['errorDescription']).includes(endless.pattern));
      await source('sales').collection('a'.repeat(60)).drop();
      await syncer.start(body);
      await syncer.waitFor(({ canCommit }) => canCommit);
      await insert(undecided, 1);
      await until('the sync says that it does not know', async () => {
        const { status: failed, body: progress } = await syncer.getProgress();
        return failed !== 200 && String(progress['error']).startsWith('InvalidNamespaceFilter: ');
      });
      assert.notEqual((await syncer.post('commit', {})).status, 200);
    });
  }

  it('a filter is kept through a restart', async () => {
    await insert('sales.a', 1);
    await insert('hr.a', 1);
    await using syncer = await pair.syncing({ includeNamespaces: [{ database: 'sales' }] });
    await syncer.kill();
    await insert('sales.b', 1);
    await insert('hr.b', 1);
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    assert.deepEqual(await namespacesOf(pair.destination), ['sales.a', 'sales.b']);
  });
});
