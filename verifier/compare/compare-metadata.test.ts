import assert from 'node:assert/strict';
import { Timestamp, UUID, type Document } from 'mongodb';
import type { NamespaceInfo } from '../../mongo/catalog.ts';
import { fakeCluster, wholeCursor } from '../../mongo/testing/fake-cluster.ts';
import { compareMetadata } from './compare-metadata.ts';
import type { Side } from './sides.ts';

const namespace = { db: 'shop', coll: 'items' };
const items: NamespaceInfo = { kind: 'collection', namespace, uuid: new UUID(), options: {} };
const view: NamespaceInfo = { kind: 'view', namespace, options: { viewOn: 'a', pipeline: [] } };
const rules = { isReplicatedFormRight: false, mayLackIndexes: false };
const { signal } = new AbortController();

const index = (key: string): Document => ({ v: 2, key: { [key]: 1 }, name: `${key}_1` });
const idIndex = { v: 2, key: { _id: 1 }, name: '_id_' };

/** What a cluster knows of the collection; without a shard key it is not sharded. */
interface Known {
  readonly indexes?: readonly Document[];
  /** Of each shard, where they are not the same. */
  readonly shardIndexes?: Readonly<Record<string, readonly Document[]>>;
  readonly shardKey?: Document;
  readonly tags?: readonly Document[];
}

function sideWith(known: Known | undefined, isSharded = false): Side {
  const cluster = fakeCluster((command, db) => {
    assert.ok(known, 'nothing has to be asked');
    const { indexes = [idIndex], shardIndexes = { a: indexes }, shardKey, tags = [] } = known;
    if ('listIndexes' in command) return wholeCursor(indexes);
    assert.ok(isSharded, 'only a sharded cluster knows more');
    const of = String(command['find'] ?? command['aggregate']);
    if (db === 'shop')
      return wholeCursor(
        Object.entries(shardIndexes).flatMap(([shard, specs]) =>
          specs.map((spec) => ({ shard, spec })),
        ),
      );
    const rows: Readonly<Record<string, readonly Document[]>> = {
      collections: shardKey ? [{ _id: 'shop.items', key: shardKey }] : [],
      shards: [{ _id: 'near' }, { _id: 'far' }],
      tags,
    };
    return wholeCursor(rows[of] ?? []);
  });
  return { cluster, isSharded, readAfter: new Timestamp({ t: 1, i: 1 }) };
}

/** The kinds of differences, with the index or field of each. */
async function differences(
  source: Side,
  destination: Side,
  [one, other]: readonly (NamespaceInfo | undefined)[] = [items, items],
): Promise<string[]> {
  const pair = { namespace, source: one, destination: other };
  const found = await compareMetadata({ source, destination }, pair, rules, signal);
  return found.map(({ kind, index: name, field }) => `${kind} ${name ?? field ?? ''}`.trim());
}

describe('compareMetadata', () => {
  it('asks nothing about what is no collection', async () => {
    const silent = sideWith(undefined, true);
    for (const [pair, expected] of [
      [[view, view], []],
      [[view, undefined], ['missingNamespace']],
      [[undefined, view], ['extraNamespace']],
      [[undefined, undefined], []],
    ] as const)
      assert.deepEqual(await differences(silent, silent, pair), expected);
  });

  it('reads the indexes of each side', async () => {
    const more = { indexes: [idIndex, index('a')] };
    assert.deepEqual(await differences(sideWith(more), sideWith(more)), []);
    assert.deepEqual(await differences(sideWith(more), sideWith({})), ['missingIndex a_1']);
    assert.deepEqual(await differences(sideWith({}), sideWith(more)), ['extraIndex a_1']);
  });

  it('compares the placement of collections in two sharded clusters alone', async () => {
    const sharded = sideWith({ shardKey: { a: 1 } }, true);
    assert.deepEqual(await differences(sharded, sideWith({ shardKey: { a: 1 } }, true)), []);
    for (const known of [{}, { shardKey: { b: 1 } }]) {
      const [found = ''] = await differences(sharded, sideWith(known, true));
      assert.match(found, /^shardKey/);
    }
    assert.deepEqual(await differences(sharded, sideWith({})), []);
    assert.deepEqual(await differences(sideWith({}, true), sideWith({}, true)), []);
  });

  it('compares the bounds of the zones that both clusters have', async () => {
    const sideAt = (min: number, max: number, tag = 'near'): Side =>
      sideWith({ shardKey: { a: 1 }, tags: [{ tag, min: { a: min }, max: { a: max } }] }, true);
    assert.deepEqual(await differences(sideAt(0, 9), sideAt(0, 9)), []);
    assert.deepEqual(await differences(sideAt(0, 9), sideAt(0, 8)), ['zone near']);
    assert.deepEqual(await differences(sideAt(0, 9), sideAt(1, 9)), ['zone near']);
    assert.deepEqual(await differences(sideAt(0, 9, 'gone'), sideAt(0, 8, 'gone')), []);
  });

  it('reads the indexes that each shard has of a sharded collection', async () => {
    const both = { shardKey: { a: 1 }, indexes: [idIndex, index('b')] };
    const uneven = { ...both, shardIndexes: { a: both.indexes, b: [idIndex] } };
    assert.deepEqual(await differences(sideWith(both, true), sideWith(both, true)), []);
    const found = await differences(sideWith(both, true), sideWith(uneven, true));
    assert.equal(found.length, 1);
    assert.match(found[0] ?? '', /Index b_1$/);
  });
});
