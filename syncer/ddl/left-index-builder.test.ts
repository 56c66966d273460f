import assert from 'node:assert/strict';
import { BSON, MongoServerError, Timestamp, UUID } from 'mongodb';
import { decodeIndexSpec } from '../../mongo/specification.ts';
import { createLogger } from '../../service/logger.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import { type CatalogEvent, parseChangeEvent } from '../source/change-event.ts';
import type { LeftIndexRecord } from '../store/left-index-store.ts';
import { LeftIndexBuilder } from './left-index-builder.ts';

type Parts = ConstructorParameters<typeof LeftIndexBuilder>[0];

const spec = { v: 2, key: { a: 1 }, name: 'a_1' };

function leftOf(collection: UUID): LeftIndexRecord {
  const mark = collection.toHexString();
  return { collection, name: spec.name, reason: 'LargeCollection', expectedSeconds: 1, mark };
}

function dropOfIndex({ collection }: LeftIndexRecord): CatalogEvent {
  const event = parseChangeEvent(
    BSON.serialize({
      ...{ _id: { _data: '82' }, clusterTime: new Timestamp({ t: 1_700_000_000, i: 7 }) },
      ...{ ns: { db: 'shop', coll: 'items' }, collectionUUID: collection },
      ...{ operationType: 'dropIndexes', operationDescription: { indexes: [spec] } },
    }),
  );
  assert.ok(event.type === 'catalog');
  return event;
}

/** A destination with left indexes, where nothing is being built, and whatever is sent there is ended. */
class Scene {
  readonly steps: string[] = [];
  readonly records: LeftIndexRecord[];
  readonly options: object;
  /** What the builder does next in these calls. */
  onTry: (collection: UUID) => void = () => undefined;
  onPoll: () => void = () => undefined;
  sizeOf: () => Promise<number> = async () => await Promise.resolve(1);

  constructor(records: readonly LeftIndexRecord[], options: object = {}) {
    this.records = [...records];
    this.options = options;
  }

  builder(): LeftIndexBuilder {
    const indexes = [decodeIndexSpec(BSON.serialize(spec))];
    const trackedOf = (uuid: UUID | string): object => ({
      ...{ uuid, namespace: { db: 'shop', coll: String(uuid) }, destinationUuid: null },
      ...{ options: this.options, indexes },
    });
    const parts = {
      destination: {
        catalog: {
          indexesOf: async () => await Promise.resolve([]),
          buildsOf: async () => {
            this.onPoll();
            return await Promise.resolve([]);
          },
          sizeOf: async () => await this.sizeOf(),
          createIndexes: async () => {
            this.steps.push('sent');
            await Promise.reject(new MongoServerError({ message: 'ended', code: 276 }));
          },
        },
        kind: { buildsOnEachShard: false, backgroundBuilds: async () => await Promise.resolve(0) },
        leftIndexes: { records: this.records, secondsFor: () => null },
      },
      catalog: { collection: trackedOf },
      store: {
        readCollection: async (uuid: UUID) => {
          this.onTry(uuid);
          return await Promise.resolve(trackedOf(uuid));
        },
      },
      coordination: { share: { count: 1 }, requireThisTerm: () => () => undefined },
      ...{ monitor: new SyncMonitor(), logger: createLogger('test', 'fatal') },
      signal: new AbortController().signal,
    };
    return new LeftIndexBuilder(parts as unknown as Parts, (error) => {
      this.steps.push(`failed: ${String(error)}`);
    });
  }
}

describe('LeftIndexBuilder', () => {
  it('applies no change that an attempt is in the way of before the attempt has ended', async () => {
    const record = leftOf(new UUID());
    const scene = new Scene([record]);
    const asked = Promise.withResolvers<undefined>();
    const size = Promise.withResolvers<number>();
    scene.sizeOf = async () => {
      asked.resolve(undefined);
      return await size.promise;
    };
    const builder = scene.builder();
    await asked.promise;
    const polledAgain = Promise.withResolvers<undefined>();
    let polls = 0;
    scene.onPoll = () => {
      if (++polls === 3) polledAgain.resolve(undefined);
    };
    const changed = builder.aside(dropOfIndex(record), async () => {
      await Promise.resolve(scene.steps.push('applied'));
    });
    await Promise.race([polledAgain.promise, changed]);
    assert.deepEqual(scene.steps, []);
    size.resolve(1);
    await changed;
    assert.deepEqual(scene.steps, ['sent', 'applied']);
    await builder.finish();
  });

  it('tries an index again at once if the source has dropped the one that it has tried', async () => {
    const [dropped, other] = [leftOf(new UUID()), leftOf(new UUID())];
    // These are left to the commit for good, after one attempt.
    const scene = new Scene([dropped], { capped: true });
    const tried: UUID[] = [];
    const triedOnce = Promise.withResolvers<undefined>();
    const triedOther = Promise.withResolvers<undefined>();
    scene.onTry = (collection) => {
      tried.push(collection);
      triedOnce.resolve(undefined);
      if (collection.equals(other.collection)) triedOther.resolve(undefined);
    };
    const builder = scene.builder();
    await triedOnce.promise;
    await builder.aside(dropOfIndex(dropped), async () => {
      await Promise.resolve();
    });
    scene.records.push(other);
    await triedOther.promise;
    assert.deepEqual(tried, [dropped.collection, dropped.collection, other.collection]);
    await builder.finish();
  });
});
