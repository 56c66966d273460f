import assert from 'node:assert/strict';
import { SyncError } from '../../service/errors.ts';
import { defaultOptions } from '../../sync-api/testing/start-examples.ts';
import { parseStart, parseStartBody, topologyErrors } from './command-bodies.ts';

const clusters = { source: 'cluster0', destination: 'cluster1' };

function nameOf(run: () => unknown): string {
  try {
    run();
    return 'accepted';
  } catch (error) {
    assert.ok(error instanceof SyncError, String(error));
    assert.notEqual(error.message, '');
    return error.name;
  }
}

describe('parseStartBody', () => {
  it('fills in the defaults', () => {
    assert.deepEqual(parseStartBody(clusters), {
      ...clusters,
      ...defaultOptions,
    });
  });

  it('takes initialData Absent for none', () => {
    const none = parseStartBody(clusters);
    assert.deepEqual(parseStartBody({ ...clusters, initialData: 'Absent' }), none);
    const initialData = 'Present';
    assert.deepEqual(parseStartBody({ ...clusters, initialData }), { ...none, initialData });
  });

  it('refuses limits for a time zone that there is none of', () => {
    const limited = (timeZone: string): string =>
      nameOf(() =>
        parseStart({
          ...clusters,
          limits: { schedule: [{ from: '08:00', to: '18:00', timeZone }] },
        }),
      );
    assert.equal(limited('Europe/Berlin'), 'accepted');
    assert.equal(limited('Europe/Atlantis'), 'InvalidBody');
  });

  it('leaves the body as it was given', () => {
    const body = Object.freeze({ ...clusters });
    parseStartBody(body);
    assert.deepEqual(body, clusters);
  });

  it('names the field that is wrong', () => {
    assert.throws(() => parseStartBody({ ...clusters, noSuchField: 1 }), /noSuchField/);
    assert.throws(() => parseStartBody({ ...clusters, buildIndexes: 5 }), /buildIndexes/);
    assert.throws(() => parseStartBody({ source: 'cluster0' }), /destination/);
    assert.throws(
      () => parseStartBody({ ...clusters, includeNamespaces: [{ database: 'a' }, { db: 'b' }] }),
      /includeNamespaces\.1.*db/,
    );
  });

  const accepted: [string, object][] = [
    ['the other direction', { source: 'cluster1', destination: 'cluster0' }],
    ...(['beforeDataCopy', 'afterDataCopy', 'never'] as const).map(
      (buildIndexes): [string, object] => [`buildIndexes ${buildIndexes}`, { buildIndexes }],
    ),
    ['write blocking', { enableUserWriteBlocking: true }],
    ['reversible: false with buildIndexes never', { reversible: false, buildIndexes: 'never' }],
    ['a whole database', { includeNamespaces: [{ database: 'a' }] }],
    ['collections', { includeNamespaces: [{ database: 'a', collections: ['b', 'c.d'] }] }],
    [
      'a pattern of collections',
      {
        includeNamespaces: [{ database: 'a', collectionsRegex: { pattern: '^b', options: 'ims' } }],
      },
    ],
    [
      'a pattern of databases',
      { excludeNamespaces: [{ databaseRegex: { pattern: 'a' }, collections: ['b'] }] },
    ],
    ['a sync that does not verify', { verification: { enabled: false } }],
    ['a sync that is to verify, of which progress warns', { verification: { enabled: true } }],
    ['an empty list of collections to shard', { sharding: { shardingEntries: [] } }],
    [
      'collections to shard',
      {
        sharding: {
          createSupportingIndexes: true,
          shardingEntries: [
            {
              database: 'a',
              collection: 'b',
              shardCollection: { key: [{ x: 1 }, { y: 'hashed' }] },
            },
          ],
        },
      },
    ],
  ];
  for (const [what, more] of accepted) {
    it(`accepts ${what}`, () => {
      assert.equal(
        nameOf(() => parseStartBody({ ...clusters, ...more })),
        'accepted',
      );
    });
  }

  const refused: [string, unknown, string][] = [
    ['no object', undefined, 'InvalidBody'],
    ['an empty object', {}, 'InvalidBody'],
    ['no source', { destination: 'cluster1' }, 'InvalidBody'],
    ['a source that is no string', { ...clusters, source: 0 }, 'InvalidBody'],
    ['an unknown source', { ...clusters, source: 'cluster2' }, 'UnknownCluster'],
    ['an unknown destination', { ...clusters, destination: 'Cluster1' }, 'UnknownCluster'],
    ['a cluster twice', { source: 'cluster1', destination: 'cluster1' }, 'UnknownCluster'],
    ['an unknown field', { ...clusters, Source: 'cluster0' }, 'InvalidBody'],
    ['buildIndexes of another value', { ...clusters, buildIndexes: 'Never' }, 'InvalidBody'],
    ['a text for a boolean', { ...clusters, enableUserWriteBlocking: 'true' }, 'InvalidBody'],
    ['null for a boolean', { ...clusters, reversible: null }, 'InvalidBody'],
    [
      'never with reversible (rule 1)',
      { ...clusters, buildIndexes: 'never', reversible: true, enableUserWriteBlocking: true },
      'NeverWithReversible',
    ],
    [
      'never with reversible, without write blocking',
      { ...clusters, buildIndexes: 'never', reversible: true },
      'NeverWithReversible',
    ],
    [
      'reversible without write blocking',
      { ...clusters, reversible: true },
      'ReversibleNeedsWriteBlocking',
    ],
    ...(
      [
        ['a filter that is no array', { database: 'a' }],
        ['an empty filter', []],
        ['an entry without a database', [{ collections: ['a'] }]],
        ['an entry with an unknown field', [{ database: 'a', regex: 'b' }]],
        ['no collections', [{ database: 'a', collections: [] }]],
        ['a database and a pattern', [{ database: 'a', databaseRegex: { pattern: 'b' } }]],
        [
          'collections and a pattern',
          [{ database: 'a', collections: ['b'], collectionsRegex: { pattern: 'c' } }],
        ],
        ['a pattern without a pattern', [{ database: 'a', collectionsRegex: { options: 'i' } }]],
        [
          'options that are none',
          [{ database: 'a', collectionsRegex: { pattern: 'b', options: 'g' } }],
        ],
        ['a pattern that is a text', [{ database: 'a', collectionsRegex: '^b' }]],
        ['a database that cannot be', [{ database: 'a.b' }]],
        ['a database with a NUL', [{ database: 'a\u0000' }]],
        ['a collection with a NUL', [{ database: 'a', collections: ['b', '\u0000'] }]],
        ['a pattern with a NUL', [{ databaseRegex: { pattern: 'a\u0000' } }]],
      ] as const
    ).flatMap(([what, filter]): [string, unknown, string][] => [
      [
        `includeNamespaces: ${what}`,
        { ...clusters, includeNamespaces: filter },
        'InvalidNamespaceFilter',
      ],
      [
        `excludeNamespaces: ${what}`,
        { ...clusters, excludeNamespaces: filter },
        'InvalidNamespaceFilter',
      ],
    ]),
    ['sharding without entries', { ...clusters, sharding: {} }, 'InvalidBody'],
    [
      'a shard key without fields',
      {
        ...clusters,
        sharding: {
          shardingEntries: [{ database: 'a', collection: 'b', shardCollection: { key: [] } }],
        },
      },
      'InvalidBody',
    ],
    [
      'two fields in one part of a shard key',
      {
        ...clusters,
        sharding: {
          shardingEntries: [
            { database: 'a', collection: 'b', shardCollection: { key: [{ x: 1, y: 1 }] } },
          ],
        },
      },
      'InvalidBody',
    ],
    ...(
      [
        ['a descending field', [{ x: -1 }]],
        ['an unknown kind', [{ x: 'text' }]],
        ['two hashed fields', [{ x: 'hashed' }, { y: 'hashed' }]],
        ['a field twice', [{ x: 1 }, { x: 'hashed' }]],
      ] as const
    ).map(([what, key]): [string, object, string] => [
      `a shard key with ${what}`,
      {
        ...clusters,
        sharding: {
          shardingEntries: [{ database: 'a', collection: 'b', shardCollection: { key } }],
        },
      },
      'InvalidShardKey',
    ]),
    [
      'a collection to shard twice',
      {
        ...clusters,
        sharding: {
          shardingEntries: [1, 2].map(() => {
            return { database: 'a', collection: 'b', shardCollection: { key: [{ x: 1 }] } };
          }),
        },
      },
      'InvalidShardKey',
    ],
  ];
  for (const [what, body, error] of refused) {
    it(`refuses ${what}: ${error}`, () => {
      assert.equal(
        nameOf(() => parseStartBody(body)),
        error,
      );
    });
  }
});

type Shape = Parameters<typeof topologyErrors>[1];

describe('topologyErrors', () => {
  const of = (kind: Shape['kind'], shards: number): Shape => {
    return { kind, shards: Array.from({ length: shards }, (_, index) => `shard-${index}`) };
  };
  const sharding = { createSupportingIndexes: false, shardingEntries: [] };
  const cases: [
    typeof sharding | undefined,
    'replicaSet' | 'sharded',
    'replicaSet' | 'sharded',
    string,
  ][] = [
    [undefined, 'replicaSet', 'replicaSet', 'accepted'],
    [sharding, 'replicaSet', 'replicaSet', 'ShardingNotAllowed'],
    // Rule 2.
    [undefined, 'replicaSet', 'sharded', 'ShardingRequired'],
    [sharding, 'replicaSet', 'sharded', 'accepted'],
    [undefined, 'sharded', 'sharded', 'accepted'],
    // Rule 3.
    [sharding, 'sharded', 'sharded', 'ShardingNotAllowed'],
    [undefined, 'sharded', 'replicaSet', 'accepted'],
    [sharding, 'sharded', 'replicaSet', 'ShardingNotAllowed'],
  ];
  for (const [given, source, destination, expected] of cases) {
    it(`${source} to ${destination} ${given ? 'with' : 'without'} sharding: ${expected}`, () => {
      const options = { reversible: false, ...(given === undefined ? {} : { sharding: given }) };
      const [first] = topologyErrors(options, of(source, 2), of(destination, 3));
      assert.equal(first?.name ?? 'accepted', expected);
    });
  }

  it('tells everything that is wrong, not only the first', () => {
    const options = { reversible: true, sharding };
    const errors = topologyErrors(options, of('sharded', 2), of('replicaSet', 1));
    const names = errors.map(({ name }) => name).join();
    assert.equal(names, 'ShardingNotAllowed,ReversibleNotSupported');
  });

  const reversals: [Shape, Shape, string][] = [
    [of('replicaSet', 1), of('replicaSet', 1), 'accepted'],
    [of('replicaSet', 1), of('sharded', 1), 'ReversibleNotSupported'],
    [of('sharded', 2), of('sharded', 3), 'ReversibleNotSupported'],
    [of('sharded', 2), of('sharded', 1), 'ReversibleNotSupported'],
    [of('sharded', 2), of('replicaSet', 1), 'ReversibleNotSupported'],
    // One shard does not make it a replica set.
    [of('sharded', 1), of('replicaSet', 1), 'ReversibleNotSupported'],
    [of('sharded', 2), of('sharded', 2), 'accepted'],
  ];
  for (const [source, destination, expected] of reversals) {
    const [from, to] = [source, destination].map(
      ({ kind, shards }) => `${kind} (${shards.length})`,
    );
    it(`${from} to ${to}, reversible: ${expected}`, () => {
      const options = {
        reversible: true,
        ...(source.kind === 'replicaSet' && destination.kind === 'sharded' && { sharding }),
      };
      const [first] = topologyErrors(options, source, destination);
      assert.equal(first?.name ?? 'accepted', expected);
    });
  }
});
