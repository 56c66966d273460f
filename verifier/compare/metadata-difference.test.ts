import assert from 'node:assert/strict';
import { BSON, Double, Int32, Long, MinKey, UUID, type Document } from 'mongodb';
import { replicatedIndex, replicatedOptions } from '../../mongo/replicated-form.ts';
import { decodeIndexSpec, decodeSpec, type IndexSpec } from '../../mongo/specification.ts';
import {
  metadataDifferences,
  type MetadataRules,
  type NamespaceState,
} from './metadata-difference.ts';

const namespace = { db: 'shop', coll: 'items' };
const final = { isReplicatedFormRight: false, mayLackIndexes: false };
const during = { isReplicatedFormRight: true, mayLackIndexes: false };

const idIndex = index({ name: '_id_', key: { _id: 1 } });

const noPlacement = { shardKey: undefined, zoneRanges: [], zones: new Set<string>() };

function collection(options: Document, ...indexes: IndexSpec[]): NamespaceState {
  const info = {
    kind: 'collection',
    namespace,
    uuid: new UUID(),
    options: decodeSpec(BSON.serialize(options)),
  } as const;
  return { info, indexes: [idIndex, ...indexes], placement: undefined };
}

function view(options: Document): NamespaceState {
  const spec = decodeSpec(BSON.serialize(options));
  return { info: { kind: 'view', namespace, options: spec }, indexes: [], placement: undefined };
}

function index(options: Document): IndexSpec {
  return decodeIndexSpec(BSON.serialize({ v: 2, name: 'i', key: { a: 1 }, ...options }));
}

describe('metadataDifferences', () => {
  const equal: readonly [string, Document, Document][] = [
    ['numbers of other types', { size: new Int32(4096) }, { size: new Double(4096) }],
    ['a default that is said', { validationLevel: 'strict' }, {}],
    ['an empty validator', { validator: {} }, {}],
    ['another order of options', { capped: true, size: 1 }, { size: 1, capped: true }],
    [
      'a collation of other number types',
      { collation: { strength: 2 } },
      { collation: { strength: Long.fromInt(2) } },
    ],
  ];
  for (const [name, source, destination] of equal) {
    it(`takes for equal: ${name}`, () => {
      assert.deepEqual(metadataDifferences(collection(source), collection(destination), final), []);
    });
  }

  const different: readonly [string, Document, Document, string][] = [
    ['capped', { capped: true, size: 1 }, { size: 1 }, 'capped'],
    ['size', { size: 1 }, { size: 2 }, 'size'],
    [
      'a number type in a validator',
      { validator: { a: { $gt: new Int32(1) } } },
      { validator: { a: { $gt: new Double(1) } } },
      'validator.a.$gt',
    ],
    [
      'the order of a validator',
      { validator: { a: 1, b: 2 } },
      { validator: { b: 2, a: 1 } },
      'validator.a',
    ],
    ['a collation', { collation: { locale: 'en' } }, {}, 'collation'],
    ['clustered', { clusteredIndex: { key: { _id: 1 } } }, {}, 'clusteredIndex'],
    [
      'pre-images',
      { changeStreamPreAndPostImages: { enabled: true } },
      {},
      'changeStreamPreAndPostImages',
    ],
    ['a validation action', { validationAction: 'warn' }, {}, 'validationAction'],
  ];
  for (const [name, source, destination, field] of different) {
    it(`finds ${name}`, () => {
      for (const rules of [final, during]) {
        const found = metadataDifferences(collection(source), collection(destination), rules);
        assert.deepEqual(
          found.map(({ kind, field: at }) => [kind, at]),
          [['options', field]],
        );
      }
    });
  }

  const specs: readonly [string, Document, Document, string][] = [
    ['unique', { unique: true }, {}, 'unique'],
    ['sparse', { sparse: true }, {}, 'sparse'],
    ['hidden', { hidden: true }, {}, 'hidden'],
    ['TTL', { expireAfterSeconds: 60 }, { expireAfterSeconds: 61 }, 'expireAfterSeconds'],
    ['no TTL', { expireAfterSeconds: 60 }, {}, 'expireAfterSeconds'],
    ['the order of a key', { key: { a: 1, b: 1 } }, { key: { b: 1, a: 1 } }, 'key.a'],
    ['a direction', { key: { a: 1 } }, { key: { a: -1 } }, 'key.a'],
    [
      'a filter',
      { partialFilterExpression: { a: 1 } },
      { partialFilterExpression: { a: 2 } },
      'partialFilterExpression.a',
    ],
    [
      'a projection',
      { wildcardProjection: { a: 1 } },
      { wildcardProjection: { a: 0 } },
      'wildcardProjection.a',
    ],
    [
      'a collation',
      { collation: { locale: 'en' } },
      { collation: { locale: 'de' } },
      'collation.locale',
    ],
    ['a version', { v: 2 }, { v: 1 }, 'v'],
    ['prepareUnique left behind', {}, { prepareUnique: true }, 'prepareUnique'],
  ];
  for (const [name, source, destination, field] of specs) {
    it(`finds ${name} of an index`, () => {
      const found = metadataDifferences(
        collection({}, index(source)),
        collection({}, index(destination)),
        final,
      );
      assert.deepEqual(
        found.map(({ kind, index: at, field: in_ }) => [kind, at, in_]),
        [['differentIndex', 'i', field]],
      );
    });
  }

  it('finds each field of an index that differs, and during a sync those that differ from both forms', () => {
    const spec = index({ unique: true, expireAfterSeconds: 60, sparse: true });
    const fieldsOf = (copy: Parameters<typeof replicatedIndex>[0], rules: MetadataRules) =>
      metadataDifferences(collection({}, spec), collection({}, copy), rules).map(
        ({ kind, index: at, field }) => [kind, at, field],
      );
    const listed = (...fields: readonly string[]) =>
      fields.map((field) => ['differentIndex', 'i', field]);
    const copy = replicatedIndex(index({ unique: true, expireAfterSeconds: 60, hidden: true }));
    assert.deepEqual(
      fieldsOf(copy, final).sort(),
      listed('expireAfterSeconds', 'sparse', 'unique'),
    );
    assert.deepEqual(fieldsOf(copy, during), listed('sparse'));
    // Neither the form of the source nor the replicated one.
    const mixed = index({ expireAfterSeconds: 60, sparse: true });
    assert.deepEqual(fieldsOf(mixed, during), listed('unique'));
    assert.deepEqual(fieldsOf(replicatedIndex(spec), during), []);
    assert.deepEqual(fieldsOf(spec, during), []);
  });

  it('takes the replicated form for right during a sync, and for wrong at its end', () => {
    const options = { capped: true, size: 4096, max: 5 };
    const spec = index({ unique: true, hidden: true, expireAfterSeconds: 60 });
    const source = collection(options, spec);
    const destination = collection(replicatedOptions(options), replicatedIndex(spec));
    assert.deepEqual(metadataDifferences(source, destination, during), []);
    const found = metadataDifferences(source, destination, final);
    assert.deepEqual(found.map(({ kind, field }) => [kind, field]).sort(), [
      ['differentIndex', 'expireAfterSeconds'],
      ['differentIndex', 'hidden'],
      ['differentIndex', 'unique'],
      ['options', 'size'],
    ]);
    assert.deepEqual(metadataDifferences(source, source, during), []);
  });

  it('finds missing and extra indexes, and forgives missing ones where the sync leaves them out', () => {
    const source = collection({}, index({ name: 'a' }));
    const destination = collection({}, index({ name: 'b' }));
    assert.deepEqual(metadataDifferences(source, destination, final), [
      { kind: 'missingIndex', index: 'a' },
      { kind: 'extraIndex', index: 'b' },
    ]);
    const lenient = { ...final, mayLackIndexes: true };
    assert.deepEqual(metadataDifferences(source, collection({}), lenient), []);
    const bare = { ...collection({}), indexes: [] };
    assert.deepEqual(metadataDifferences(source, bare, lenient), [
      { kind: 'missingIndex', index: '_id_' },
    ]);
  });

  it('compares the TTL of a clustered collection once, in its options, whether the index has it as well or not', () => {
    const clustered = (seconds: number, inIndex: object): NamespaceState => {
      const spec = { name: '_id_', key: { _id: 1 }, unique: true, clustered: true, ...inIndex };
      return { ...collection({ expireAfterSeconds: seconds }), indexes: [index(spec)] };
    };
    const source = clustered(60, {});
    const same = clustered(60, { expireAfterSeconds: 60 });
    assert.deepEqual(metadataDifferences(source, same, final), []);
    const other = clustered(61, { expireAfterSeconds: 61 });
    for (const left of [source, same]) {
      const found = metadataDifferences(left, other, final);
      assert.deepEqual(
        found.map(({ kind }) => kind),
        ['options'],
      );
    }
  });

  describe('on a sharded cluster', () => {
    /** The destination's collection, sharded by this key. */
    const sharded = (key: Document, ...indexes: IndexSpec[]): NamespaceState => {
      const { key: shardKey } = index({ key });
      const placement = { shardKey, zoneRanges: [], zones: new Set<string>() };
      return { ...collection({}, ...indexes), placement };
    };
    const kinds = (
      source: NamespaceState,
      destination: NamespaceState,
      rules = final,
    ): (string | undefined)[][] =>
      metadataDifferences(source, destination, rules).map(({ kind, index: name }) => [kind, name]);

    it('takes an index for right that is on the shard key, and nothing else', () => {
      for (const key of [{ a: 1 }, { a: 1, 'b.c': 'hashed' }, { a: new Double(1) }]) {
        assert.deepEqual(kinds(collection({}), sharded(key, index({ name: 'i', key }))), []);
      }
      for (const other of [
        { key: { a: 1, b: 1 } },
        { key: { a: -1 } },
        { key: { a: 'hashed' } },
        { key: { b: 1 } },
        { unique: true },
        { sparse: true },
        { hidden: true },
        { expireAfterSeconds: 1 },
        { partialFilterExpression: { a: 1 } },
        { collation: { locale: 'en' } },
      ]) {
        const found = kinds(collection({}), sharded({ a: 1 }, index(other)));
        assert.deepEqual(found, [['extraIndex', 'i']], JSON.stringify(other));
      }
    });

    it('takes the index of a syncer for right that makes one where there is none', () => {
      const name = 'clustersync_shard_key';
      const own = index({ name, key: { a: 1, clustersync_shard_key: 1 } });
      assert.deepEqual(kinds(collection({}), sharded({ a: 1 }, own)), []);
      const other = index({ name, key: { b: 1, clustersync_shard_key: 1 } });
      assert.deepEqual(kinds(collection({}), sharded({ a: 1 }, other)), [['extraIndex', name]]);
    });

    it('takes it for too many where the source has one that does', () => {
      const own = index({ name: 'own' });
      for (const key of [{ a: 1 }, { a: 1, b: -1 }]) {
        const mine = index({ name: 'mine', key });
        const destination = sharded({ a: 1 }, mine, own);
        assert.deepEqual(kinds(collection({}, mine), destination), [['extraIndex', 'own']]);
        assert.deepEqual(kinds(collection({}, mine), destination, during), []);
      }
      for (const options of [
        { key: { b: 1, a: 1 } },
        { sparse: true },
        { hidden: true },
        { partialFilterExpression: { a: 1 } },
        { collation: { locale: 'en' } },
      ]) {
        const mine = index({ name: 'mine', ...options });
        const found = kinds(collection({}, mine), sharded({ a: 1 }, mine, own));
        assert.deepEqual(found, [], JSON.stringify(options));
      }
    });

    it('takes it for right where the sync has left out the one of the source that does', () => {
      const source = collection({}, index({ name: 'mine' }));
      const lenient = { ...final, mayLackIndexes: true };
      const destination = sharded({ a: 1 }, index({ name: 'own' }));
      assert.deepEqual(kinds(source, destination, lenient), []);
    });

    it('names the shards where only some have a difference', () => {
      const destination = sharded({ _id: 1 }, index({ name: 'c' }));
      const shardIndexes = new Map([
        ['s0', [idIndex, index({ name: 'c' })]],
        ['s1', [idIndex, index({ name: 'b' }), index({ name: 'c' })]],
        ['s2', [idIndex, index({ name: 'c', unique: true })]],
      ]);
      const source = collection({}, index({ name: 'a' }), index({ name: 'c' }));
      assert.deepEqual(metadataDifferences(source, { ...destination, shardIndexes }, final), [
        { kind: 'missingIndex', index: 'a' },
        { kind: 'extraIndex', index: 'b', detail: 'only on s1' },
        {
          ...{ kind: 'differentIndex', index: 'c', field: 'unique' },
          detail: 'not on the source, only on s2',
        },
      ]);
    });

    it('says in one difference how a field of an index differs on each shard', () => {
      const ttl = (seconds: number) => index({ name: 'ttl', expireAfterSeconds: seconds });
      const differences = (...shards: readonly IndexSpec[]) => {
        const shardIndexes = new Map(
          shards.map((spec, number) => [`s${number}`, [idIndex, spec]] as const),
        );
        const destination = { ...sharded({ _id: 1 }), shardIndexes };
        return metadataDifferences(collection({}, ttl(60)), destination, final).map(
          ({ kind, index: at, field, detail }) => [kind, at, field, detail],
        );
      };
      const wrong = ttl(61);
      const none = index({ name: 'ttl' });
      const [[, , , everywhere]] = differences(wrong, wrong) as [[0, 0, 0, string]];
      assert.doesNotMatch(everywhere, /only on/);
      const missing = 'missing on the destination';
      assert.deepEqual(differences(wrong, none, ttl(60), none), [
        [
          ...['differentIndex', 'ttl', 'expireAfterSeconds'],
          `${everywhere}, only on s0; ${missing}, only on s1, s3`,
        ],
      ]);
    });

    it('takes what not all shards of the source have for no index of the collection', () => {
      const shardIndexes = new Map([
        ['s0', [idIndex, index({ name: 'a' }), index({ name: 'c' })]],
        ['s1', [idIndex, index({ name: 'b' }), index({ name: 'c' })]],
      ]);
      const source = collection({}, index({ name: 'a' }), index({ name: 'c' }));
      const uneven = { ...source, shardIndexes };
      const right = collection({}, index({ name: 'c' }));
      assert.deepEqual(metadataDifferences(uneven, right, final), []);
      assert.deepEqual(metadataDifferences(uneven, source, during), []);
      assert.deepEqual(metadataDifferences(uneven, source, final), [
        { kind: 'extraIndex', index: 'a' },
      ]);
      assert.deepEqual(metadataDifferences(uneven, collection({}), during), [
        { kind: 'missingIndex', index: 'c' },
      ]);
    });

    it('compares shard keys where both sides are sharded clusters', () => {
      const unsharded = { ...sharded({ a: 1 }), placement: { ...noPlacement } };
      const placed = (key: Document): NamespaceState => sharded(key);
      assert.deepEqual(kinds(placed({ a: 1 }), placed({ a: Long.fromInt(1) })), []);
      assert.deepEqual(kinds(unsharded, unsharded), []);
      assert.deepEqual(kinds(placed({ a: 1 }), collection({})), []);
      for (const [source, destination] of [
        [placed({ a: 1 }), unsharded],
        [unsharded, placed({ a: 1 })],
        [placed({ a: 1 }), placed({ a: 'hashed' })],
        [placed({ a: 1, b: 1 }), placed({ b: 1, a: 1 })],
        [placed({ a: 1, b: 1 }), placed({ a: 1 })],
      ] as const) {
        const [found, ...more] = metadataDifferences(source, destination, final);
        assert.equal(found?.kind, 'shardKey');
        assert.deepEqual(more, []);
      }
    });

    it('compares the ranges of the zones that both clusters have', () => {
      const key = { a: 1 };
      const zoned = (
        zones: readonly string[],
        ...ranges: readonly [string, unknown, unknown][]
      ) => {
        const zoneRanges = ranges.map(([zone, min, max]) => ({
          zone,
          min: index({ key: { a: min } }).key,
          max: index({ key: { a: max } }).key,
        }));
        const { placement } = sharded(key);
        assert.ok(placement);
        return { ...sharded(key), placement: { ...placement, zoneRanges, zones: new Set(zones) } };
      };
      const left = zoned(['x', 'y'], ['x', new MinKey(), 1], ['y', 1, 2]);
      const same = zoned(['x', 'z'], ['x', new MinKey(), new Double(1)], ['z', 5, 6]);
      assert.deepEqual(metadataDifferences(left, same, final), []);
      assert.deepEqual(metadataDifferences(left, zoned(['x', 'y'], ['y', 1, 2]), final), [
        { kind: 'zone', field: 'x', detail: 'a range missing on the destination' },
      ]);
      const more = zoned(['x', 'y'], ['x', new MinKey(), 1], ['y', 1, 2], ['y', 2, 3]);
      assert.deepEqual(metadataDifferences(left, more, final), [
        { kind: 'zone', field: 'y', detail: 'a range not on the source' },
      ]);
    });
  });

  it('compares views', () => {
    const one = view({ viewOn: 'a', pipeline: [{ $match: { a: 1, b: 2 } }] });
    const other = view({ viewOn: 'a', pipeline: [{ $match: { b: 2, a: 1 } }] });
    assert.deepEqual(metadataDifferences(one, one, final), []);
    assert.deepEqual(
      metadataDifferences(one, other, final).map(({ field }) => field),
      ['pipeline.0.$match.a'],
    );
  });

  it('finds what is on one side, and what is of another kind', () => {
    const one = collection({});
    assert.deepEqual(metadataDifferences(undefined, undefined, final), []);
    assert.deepEqual(metadataDifferences(one, undefined, final), [{ kind: 'missingNamespace' }]);
    assert.deepEqual(metadataDifferences(undefined, one, final), [{ kind: 'extraNamespace' }]);
    const [found] = metadataDifferences(one, view({}), final);
    assert.equal(found?.kind, 'namespaceType');
  });
});
