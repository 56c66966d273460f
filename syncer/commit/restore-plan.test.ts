import assert from 'node:assert/strict';
import { BSON, Int32 } from 'mongodb';
import { replicatedIndex, replicatedOptions } from '../../mongo/replicated-form.ts';
import { decodeIndexSpec, type IndexSpec } from '../../mongo/specification.ts';
import { planIndexes, planIndexesOfShards, planOptions, type OptionsStep } from './restore-plan.ts';

const index = (options: object = {}): IndexSpec =>
  decodeIndexSpec(
    BSON.serialize({ v: new Int32(2), key: { a: new Int32(1) }, name: 'a_1', ...options }),
  );

describe('planIndexes', () => {
  const name = 'a_1';
  const cases: [string, object, object[]][] = [
    ['an ordinary index', {}, []],
    [
      'a compound wildcard index (7.0)',
      { key: { a: 1, 'b.$**': 1 }, wildcardProjection: { 'b.c': 0, _id: 1 } },
      [],
    ],
    [
      'a unique index',
      { unique: true },
      [
        { kind: 'prepareUnique', name },
        { kind: 'convertToUnique', name },
      ],
    ],
    ['a prepared index', { prepareUnique: true }, [{ kind: 'prepareUnique', name }]],
    [
      'a hidden index',
      { hidden: true },
      [{ kind: 'modify', name, change: { name, hidden: true } }],
    ],
    [
      'a TTL index',
      { expireAfterSeconds: new Int32(5) },
      [{ kind: 'modify', name, change: { name, expireAfterSeconds: new Int32(5) } }],
    ],
    [
      'a TTL of zero',
      { expireAfterSeconds: new Int32(0) },
      [{ kind: 'modify', name, change: { name, expireAfterSeconds: new Int32(0) } }],
    ],
  ];
  for (const [what, options, steps] of cases) {
    it(`restores ${what} from its replicated form`, () => {
      assert.deepEqual(planIndexes([index(options)], [replicatedIndex(index(options))]), steps);
    });

    it(`has nothing to do for ${what} that is restored`, () => {
      assert.deepEqual(planIndexes([index(options)], [index(options)]), []);
    });
  }

  it('continues with a unique index that is prepared already', () => {
    assert.deepEqual(planIndexes([index({ unique: true })], [index({ prepareUnique: true })]), [
      { kind: 'convertToUnique', name },
    ]);
  });

  it('builds an index that is missing, and never the one on _id', () => {
    const id = index({ key: { _id: 1 }, name: '_id_' });
    assert.deepEqual(planIndexes([id, index({ unique: true })], []), [
      { kind: 'build', spec: index({ unique: true }) },
    ]);
  });
});

describe('planIndexesOfShards', () => {
  const spec = index({ unique: true });

  it('asks once for what several shards need', () => {
    const present = [[replicatedIndex(spec)], [index({ prepareUnique: true })], [spec]];
    assert.deepEqual(planIndexesOfShards([spec], present), [
      { kind: 'prepareUnique', name: 'a_1' },
      { kind: 'convertToUnique', name: 'a_1' },
    ]);
    assert.deepEqual(planIndexesOfShards([spec], [[spec], [spec]]), []);
  });

  it('builds what one shard lacks, after everything else', () => {
    const other = index({ name: 'b', key: { b: new Int32(1) }, hidden: true });
    const present = [[replicatedIndex(other)], [spec, other]];
    assert.deepEqual(planIndexesOfShards([spec, other], present), [
      { kind: 'modify', name: 'b', change: { name: 'b', hidden: true } },
      { kind: 'build', spec },
    ]);
  });
});

describe('planOptions', () => {
  const modify = (change: object): OptionsStep => ({ kind: 'modify', change });
  const cases: [string, object, readonly OptionsStep[]][] = [
    ['ordinary', { validator: { a: 1 } }, []],
    ['capped', { capped: true, size: 4096 }, [modify({ cappedSize: 4096 })]],
    [
      'capped with a largest count',
      { capped: true, size: 4096, max: 3 },
      [modify({ cappedSize: 4096, cappedMax: 3 })],
    ],
    [
      'clustered with TTL',
      { clusteredIndex: {}, expireAfterSeconds: 60 },
      [modify({ expireAfterSeconds: 60 })],
    ],
    [
      'clustered and capped',
      { clusteredIndex: {}, capped: true, size: 4096, expireAfterSeconds: 60 },
      [{ kind: 'convertToCapped', size: 4096 }, modify({ expireAfterSeconds: 60 })],
    ],
  ];
  for (const [what, options, steps] of cases) {
    it(`restores a collection that is ${what}`, () => {
      assert.deepEqual(planOptions(options, replicatedOptions(options)), steps);
      assert.deepEqual(planOptions(options, options), []);
    });
  }

  it('takes a TTL off that the source has taken off', () => {
    assert.deepEqual(
      planOptions({ clusteredIndex: {} }, { clusteredIndex: {}, expireAfterSeconds: 2147483647 }),
      [modify({ expireAfterSeconds: 'off' })],
    );
  });
});
