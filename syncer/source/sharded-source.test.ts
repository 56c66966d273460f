import assert from 'node:assert/strict';
import { BSON, Timestamp, UUID } from 'mongodb';
import type { ShardedCollection, ShardKeys } from '../../mongo/config-database.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import { playedCursors } from '../../mongo/testing/played-cursors.ts';
import { playedAdmin } from '../../mongo/testing/played-deployment.ts';
import type { TrackedCollection } from '../store/records.ts';
import { ShardedSourceKind, suspectsOf } from './sharded-source.ts';

const [one, other] = [new UUID(), new UUID()];
const [oneHex, otherHex] = [hexOf(one), hexOf(other)];
const key: ShardKey = [{ field: 'number', kind: 1 }];
const never = at(0);

function at(seconds: number): Timestamp {
  return new Timestamp({ t: seconds, i: 0 });
}

function hexOf(uuid: UUID): string {
  return uuid.toHexString(false);
}

/** What a source has, from namespaces by UUID. */
function shardKeysOf(sharded: Readonly<Record<string, string>>): ShardKeys {
  const rows = Object.entries(sharded).map(([uuid, namespace]): [string, ShardedCollection] => [
    uuid,
    { namespace, key, isUnique: false },
  ]);
  return new Map(rows);
}

function tracked(shardKey: ShardKey | null): TrackedCollection {
  return {
    uuid: one,
    namespace: { db: 'shop', coll: 'items' },
    destinationUuid: null,
    shardKey,
    options: {},
    indexes: [],
    namedAt: never,
    namedBy: never,
    replacedUuid: null,
    specifiedAt: never,
    sizeBytes: 0,
    documentCount: 0,
    isAdopted: false,
    isCopied: true,
  };
}

describe('collections that may have been resharded', () => {
  const cases: readonly (readonly [
    what: string,
    shardKey: ShardKey | null,
    sharded: Readonly<Record<string, string>>,
    found: readonly (readonly [string, string])[],
  ])[] = [
    ['its name has another one', key, { [otherHex]: 'shop.items' }, [[oneHex, otherHex]]],
    ['it is as it was', key, { [oneHex]: 'shop.items' }, []],
    [
      'it was renamed, and another has its name',
      key,
      { [oneHex]: 'shop.old', [otherHex]: 'shop.items' },
      [],
    ],
    ['it is gone', key, { [otherHex]: 'shop.others' }, []],
    ['it has no shard key', null, { [otherHex]: 'shop.items' }, []],
  ];
  for (const [what, shardKey, sharded, found] of cases) {
    it(`${found.length > 0 ? 'are those of which' : 'are none where'} ${what}`, () => {
      assert.deepEqual([...suspectsOf([tracked(shardKey)], shardKeysOf(sharded))], found);
    });
  }
});

/** A sharded source whose shard keys and clock are set by the test, and what the sync knows of it. */
class PlayedSource extends ShardedSourceKind {
  readonly known: { appliedTime: Timestamp | null; readonly receivedTime: null };
  readonly #scene: Scene;

  constructor(scene: Scene) {
    const admin = playedAdmin((command) =>
      'hello' in command ? { msg: 'isdbgrid' } : { operationTime: at(++scene.seconds) },
    );
    const catalog = {
      collections: () => [...scene.collections],
      collectionAt: () => scene.collections[0],
    };
    const known = { appliedTime: null, receivedTime: null };
    super({ admin } as Deployment, catalog, known, new AbortController().signal);
    this.known = known;
    this.#scene = scene;
  }

  override async readShardKeys(): Promise<ShardKeys> {
    this.#scene.looks++;
    return await Promise.resolve(shardKeysOf(this.#scene.sharded));
  }
}

interface Scene {
  /** The namespaces of the source's collections, by UUID. */
  sharded: Readonly<Record<string, string>>;
  /** Those that the sync tracks. */
  collections: readonly TrackedCollection[];
  /** The clock of the source. */
  seconds: number;
  /** How often it was asked for its shard keys. */
  looks: number;
}

describe('before a commit, a suspicion that a collection was resharded', () => {
  const resharded = { [otherHex]: 'shop.items' };
  const refused = { name: 'ChangeNotSupported', message: /^shop\.items was resharded/ };

  /** A source on which `shop.items` was suspicious once. */
  async function suspected(): Promise<{ readonly source: PlayedSource; readonly scene: Scene }> {
    const scene = { sharded: resharded, collections: [tracked(key)], seconds: 100, looks: 0 };
    const source = new PlayedSource(scene);
    await source.checkResharding();
    assert.deepEqual([scene.looks, scene.seconds], [1, 102]);
    return { source, scene };
  }

  it('does not count, nor is the source asked again, before all changes until then are applied', async () => {
    const { source, scene } = await suspected();
    for (const appliedTime of [null, at(100)]) {
      source.known.appliedTime = appliedTime;
      await source.checkResharding();
      assert.equal(scene.looks, 1);
    }
    source.known.appliedTime = at(101);
    await assert.rejects(source.checkResharding(), refused);
  });

  const others: Readonly<Record<string, Partial<Scene>>> = {
    'the source has the collection again': { sharded: { [oneHex]: 'shop.items' } },
    'a change has ended the collection since': { collections: [] },
    'yet another one has its name': { sharded: { [hexOf(new UUID())]: 'shop.items' } },
  };
  for (const [what, change] of Object.entries(others))
    it(`does not count where ${what}`, async () => {
      const { source, scene } = await suspected();
      Object.assign(scene, change);
      source.known.appliedTime = at(200);
      await source.checkResharding();
      assert.equal(scene.looks, 2);
    });
});

describe('an event of an unknown collection, where another one has its name,', () => {
  const namedBy = at(100);
  const cases: readonly (readonly [
    what: string,
    occupant: Partial<TrackedCollection> | undefined,
    event: object,
    isRefused: boolean,
  ])[] = [
    ['is that of a resharded one', {}, {}, true],
    ['is so where the other has replaced a third one', { replacedUuid: new UUID() }, {}, true],
    ['may be of one that the other has replaced', { replacedUuid: other }, {}, false],
    ['may be older than the name of the other', {}, { clusterTime: at(99) }, false],
    ['may be as old as the name of the other', {}, { clusterTime: namedBy }, false],
    ['may be of a name that is free by now', undefined, {}, false],
    ['may have no namespace', {}, { ns: undefined }, false],
    ['may have no time', {}, { clusterTime: undefined }, false],
  ];
  for (const [what, occupant, change, isRefused] of cases)
    it(what, () => {
      const collections = occupant ? [{ ...tracked(key), namedBy, ...occupant }] : [];
      const source = new PlayedSource({ sharded: {}, collections, seconds: 0, looks: 0 });
      const ns = { db: 'shop', coll: 'items' };
      const event = BSON.serialize({ ns, clusterTime: at(101), ...change });
      const check = (): void => {
        source.checkUnknown(otherHex, event);
      };
      if (isRefused) assert.throws(check, { name: 'ChangeNotSupported', message: /was resharded/ });
      else check();
    });
});

describe('a collection that could not be read where it was found', () => {
  const cases: readonly (readonly [
    what: string,
    searches: number,
    rows: readonly object[],
    isRefused: boolean,
  ])[] = [
    [
      'is refused in the end if it is another one to the config servers',
      8,
      [{ uuid: other }],
      true,
    ],
    ['is searched for again for a while, whatever it is to them', 7, [{ uuid: other }], false],
    ['is searched for again if it is the same to them', 8, [{ uuid: one }], false],
    ['is searched for again if they do not know it', 8, [], false],
  ];
  for (const [what, searches, rows, isRefused] of cases)
    it(what, async () => {
      const { cluster, sent } = playedCursors(({ find }) => ({
        documents: find === 'collections' ? rows : [],
      }));
      const source = new ShardedSourceKind(
        { raw: cluster.raw, decoded: cluster.raw } as unknown as Deployment,
        { collections: () => [], collectionAt: () => undefined },
        { appliedTime: null, receivedTime: null },
        new AbortController().signal,
      );
      const preparing = source.prepareReading({ ...tracked(null), kind: 'collection' }, searches);
      if (isRefused) await assert.rejects(preparing, { name: 'ChangeNotSupported' });
      else await preparing;
      const [read] = sent;
      // It teaches the router where the collection is, which a read with the UUID would not.
      assert.deepEqual(
        [read?.command['find'], read?.command['collectionUUID']],
        ['items', undefined],
      );
    });
});
