import assert from 'node:assert/strict';
import { Timestamp, UUID } from 'mongodb';
import { requestedConcurrency } from '../options/copy-concurrency.ts';
import type { CatalogEvent } from '../source/change-event.ts';
import type { TrackedCollection } from '../store/records.ts';
import { CatalogChanges } from './apply-catalog-event.ts';

describe('CatalogChanges', () => {
  type Parts = ConstructorParameters<typeof CatalogChanges>[0];
  const time = (t: number): Timestamp => new Timestamp({ t, i: 0 });
  const collection = (coll: string): TrackedCollection => ({
    ...{ uuid: new UUID(), destinationUuid: new UUID(), replacedUuid: null },
    ...{ namespace: { db: 'shop', coll }, shardKey: null, options: {}, indexes: [] },
    ...{ namedAt: time(1), namedBy: time(1), specifiedAt: time(1) },
    ...{ sizeBytes: 0, documentCount: 0, isAdopted: false, isCopied: true },
  });
  const [items, former] = [collection('items'), collection('former')];
  const event: CatalogEvent = {
    ...{ type: 'catalog', operation: 'drop', time: time(2), namespace: items.namespace },
    ...{ uuid: items.uuid, to: undefined, givesOddName: false, description: {} },
  };

  /** Changes of a catalog with two collections on a destination that cannot drop any, and what they have stored. */
  function failing() {
    const stored: unknown[] = [];
    const tracked = [items, former];
    const parts = {
      source: {
        catalog: { isOfOddName: async () => await Promise.resolve(false) },
        selects: async () => await Promise.resolve(true),
      },
      destination: {
        made: { drop: async () => await Promise.reject(new Error('the destination is gone')) },
        leftIndexes: {
          forget: async (uuid: UUID) => {
            await Promise.resolve(stored.push(['forget', uuid]));
          },
        },
      },
      catalog: {
        collection: (id: string) => tracked.find(({ uuid }) => uuid.toHexString(false) === id),
        collectionAt: ({ coll }: { readonly coll: string }) =>
          tracked.find(({ namespace }) => namespace.coll === coll),
        put: async ({ uuid, replacedUuid }: TrackedCollection) => {
          await Promise.resolve(stored.push(['put', uuid, replacedUuid]));
        },
        remove: async (uuid: UUID) => {
          await Promise.resolve(stored.push(['remove', uuid]));
        },
      },
      options: { sharding: undefined },
      settings: { concurrency: requestedConcurrency(1, 1) },
    };
    return { changes: new CatalogChanges(parts as unknown as Parts), stored };
  }

  it('forgets a collection only once it is dropped: a repetition still finds it', async () => {
    const { changes, stored } = failing();
    await assert.rejects(changes.apply(event), /the destination is gone/);
    assert.deepEqual(stored, []);
  });

  it('stores which collection a rename has replaced before it drops that one', async () => {
    const { changes, stored } = failing();
    const rename = {
      ...{ ...event, operation: 'rename', to: former.namespace },
      description: { dropTarget: former.uuid },
    };
    await assert.rejects(changes.apply(rename), /the destination is gone/);
    assert.deepEqual(stored, [['put', items.uuid, former.uuid]]);
  });
});
