import assert from 'node:assert/strict';
import { BSON, Timestamp, type Document } from 'mongodb';
import { idKey, keyOfBytes } from '../compare/id-key.ts';
import type { Sides } from '../../mongo/sides.ts';
import type { Position, Recheck, Tally } from '../store/records.ts';
import {
  ChangeLog,
  observedChange,
  type LogLimits,
  type LogStore,
  type ObservedChange,
} from './change-log.ts';

const ns = { db: 'shop', coll: 'items' };

describe('observedChange', () => {
  const table: readonly [Document, ObservedChange][] = [
    ...(
      [
        ['insert', 'insert'],
        ['update', 'update'],
        ['replace', 'update'],
        ['delete', 'delete'],
      ] as const
    ).map(([operationType, effect]): [Document, ObservedChange] => [
      { _id: { _data: '82' }, operationType, ns, documentKey: { shard: 1, _id: 'x' } },
      { kind: 'document', namespace: ns, id: idKey(BSON.serialize({ _id: 'x' })), effect },
    ]),
    ...['createIndexes', 'dropIndexes', 'modify', 'refineCollectionShardKey'].map(
      (operationType): [Document, ObservedChange] => [
        { operationType, ns },
        { kind: 'metadata', namespace: ns },
      ],
    ),
    ...['create', 'drop', 'shardCollection', 'unheardOf'].map(
      (operationType): [Document, ObservedChange] => [
        { operationType, ns },
        { kind: 'whole', namespaces: [ns] },
      ],
    ),
    [
      { operationType: 'rename', ns, to: { db: 'other', coll: 'things' } },
      { kind: 'whole', namespaces: [ns, { db: 'other', coll: 'things' }] },
    ],
    [
      { operationType: 'dropDatabase', ns: { db: 'shop' } },
      { kind: 'database', db: 'shop' },
    ],
  ];
  for (const [event, expected] of table) {
    it(`reads ${String(event['operationType'])}`, () => {
      assert.deepEqual(observedChange(BSON.serialize(event)), expected);
    });
  }
});

const items = { db: 'shop', coll: 'items' };

const roomy: LogLimits = {
  waitingIds: 100,
  waitingLength: 10_000,
  knownLength: 10_000,
  bundleIds: 2,
  bundleLength: 1000,
};

function changed(...ids: unknown[]): ObservedChange[] {
  return ids.map((_id) => ({
    kind: 'document',
    namespace: items,
    id: idKey(BSON.serialize({ _id })),
    effect: 'update',
  }));
}

/** The insert or delete of a document. */
function counted(effect: 'insert' | 'delete', _id: unknown): ObservedChange {
  return { kind: 'document', namespace: items, id: idKey(BSON.serialize({ _id })), effect };
}

function at(t: number): { token: Uint8Array; time: Timestamp } {
  return { token: Uint8Array.of(t), time: new Timestamp({ t, i: 1 }) };
}

/** A log, and what it has stored, in order. */
function logOf(limits = roomy): { log: ChangeLog; stored: string[] } {
  const stored: string[] = [];
  const text = (recheck: Recheck): string => {
    if (recheck.kind === 'database') return `database ${recheck.db}`;
    const ids = recheck.kind === 'ids' ? recheck.ids.map((id) => keyOfBytes(id.buffer).length) : [];
    return [recheck.kind, recheck.namespace.coll, ...ids].join(' ');
  };
  const time = (position: Position | null): string => String(position?.time.t ?? '-');
  const store = {
    add: async (generation: number, rechecks: readonly Recheck[]) => {
      await Promise.resolve();
      stored.push(...rechecks.map((recheck) => `${generation}: ${text(recheck)}`));
    },
    addTallies: async (generation: number, tallies: ReadonlyMap<string, Tally>) => {
      await Promise.resolve();
      for (const [name, { inserted, deleted }] of tallies) {
        const counts = [inserted.source, inserted.destination, deleted.source, deleted.destination];
        stored.push(`${generation}: tally ${name} ${counts.join(' ')}`);
      }
    },
    setPositions: async ({ source, destination }: Sides<Position | null>) => {
      await Promise.resolve();
      stored.push(`at ${time(source)} ${time(destination)}`);
    },
  };
  const positions = { source: null, destination: null };
  return { log: new ChangeLog(store, { generation: 1, positions }, limits), stored };
}

describe('ChangeLog', () => {
  it('stores changes before the position that is after them', async () => {
    const { log, stored } = logOf();
    log.take('source', changed(1, 2, 3), at(10));
    log.take('destination', [{ kind: 'database', db: 'old' }], at(20));
    await log.flush();
    assert.deepEqual(stored, ['1: database old', '1: ids items 5 5', '1: ids items 5', 'at 10 20']);
    assert.equal(log.isEmpty, true);
  });

  it('counts every insert and delete of each side, before the position that is after them', async () => {
    const { log, stored } = logOf();
    log.take('source', [counted('insert', 1), counted('delete', 1), counted('insert', 1)], at(10));
    log.take('destination', [counted('delete', 1), ...changed(1)], at(20));
    await log.flush();
    log.take('source', [counted('insert', 1)], at(11));
    await log.close();
    log.take('destination', [counted('delete', 2)], at(21));
    await log.flush();
    assert.deepEqual(stored, [
      '1: ids items 5',
      '1: tally shop.items 2 0 1 1',
      'at 10 20',
      '1: tally shop.items 1 0 0 0',
      'at 11 20',
      '2: ids items 5',
      '2: tally shop.items 0 0 0 1',
      'at 11 21',
    ]);
  });

  it('stores an id once for a pass, and again for the next', async () => {
    const { log, stored } = logOf();
    log.take('source', changed(1), at(10));
    await log.flush();
    log.take('destination', changed(1), at(11));
    await log.close();
    log.take('source', changed(1), at(12));
    await log.flush();
    assert.deepEqual(
      stored.filter((line) => !line.startsWith('at')),
      ['1: ids items 5', '2: ids items 5'],
    );
  });

  it('notes what comes while a pass is closed for the next one', async () => {
    const { log, stored } = logOf();
    log.take('source', changed(1), at(10));
    const closing = log.close();
    await Promise.resolve();
    log.take('source', changed(1, 2), at(11));
    const positions = await closing;
    await log.flush();
    assert.deepEqual(stored, ['1: ids items 5', 'at 10 -', '2: ids items 5 5', 'at 11 -']);
    assert.equal(positions.source?.time.t, 10);
  });

  it('compares a collection as a whole where an id is too long', async () => {
    const { log, stored } = logOf();
    log.take('source', changed('x'.repeat(2000), 1), at(10));
    await log.flush();
    assert.deepEqual(stored, ['1: whole items', 'at 10 -']);
  });

  it('says when it is full, and forgets what it knows when that is too much', async () => {
    const { log, stored } = logOf({ ...roomy, waitingIds: 3, knownLength: 30 });
    log.take('source', changed(1, 2), at(10));
    assert.equal(log.isFull, false);
    log.take('source', changed(3, 4), at(11));
    assert.equal(log.isFull, true);
    await log.flush();
    assert.equal(log.isFull, false);
    log.take('source', changed(1), at(12));
    await log.flush();
    assert.equal(stored.filter((line) => line.includes('ids')).length, 3);
  });

  it('stores no position after changes that it could not store', async () => {
    for (const failing of ['add', 'addTallies', 'setPositions'] as const) {
      const refused = new Error('refused');
      const reached: string[] = [];
      const step = async (name: typeof failing): Promise<void> => {
        await Promise.resolve();
        if (name === failing && !reached.includes('refused')) {
          reached.push('refused');
          throw refused;
        }
        reached.push(name);
      };
      const store: LogStore = {
        add: async () => {
          await step('add');
        },
        addTallies: async () => {
          await step('addTallies');
        },
        setPositions: async () => {
          await step('setPositions');
        },
      };
      const positions = { source: null, destination: null };
      const log = new ChangeLog(store, { generation: 1, positions }, roomy);
      log.take('source', [counted('insert', 1)], at(10));
      assert.equal(log.hasFailed, false);
      // Meanwhile the other side waits for its turn.
      const ends = await Promise.allSettled([log.flush(), log.flush(), log.close()]);
      assert.deepEqual(
        ends.map((end) => (end.status === 'rejected' ? (end.reason as unknown) : end.status)),
        [refused, refused, refused],
      );
      assert.equal(log.hasFailed, true);
      assert.equal(reached.includes('setPositions'), false);
    }
  });
});
