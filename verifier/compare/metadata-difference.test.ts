import assert from 'node:assert/strict';
import { BSON, Double, Int32, Long, UUID, type Document } from 'mongodb';
import { replicatedIndex, replicatedOptions } from '../../mongo/replicated-form.ts';
import { decodeIndexSpec, decodeSpec, type IndexSpec } from '../../mongo/specification.ts';
import { metadataDifferences, type NamespaceState } from './metadata-difference.ts';

const namespace = { db: 'shop', coll: 'items' };
const final = { isReplicatedFormRight: false, mayLackIndexes: false };
const during = { isReplicatedFormRight: true, mayLackIndexes: false };

const idIndex = index({ name: '_id_', key: { _id: 1 } });

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

  it('takes the replicated form for right during a sync, and for wrong at its end', () => {
    const options = { capped: true, size: 4096, max: 5 };
    const spec = index({ unique: true, hidden: true, expireAfterSeconds: 60 });
    const source = collection(options, spec);
    const destination = collection(replicatedOptions(options), replicatedIndex(spec));
    assert.deepEqual(metadataDifferences(source, destination, during), []);
    assert.deepEqual(
      metadataDifferences(source, destination, final).map(({ kind }) => kind),
      ['options', 'differentIndex'],
    );
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
