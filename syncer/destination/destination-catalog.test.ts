import assert from 'node:assert/strict';
import { BSON } from 'mongodb';
import { decodeIndexSpec } from '../../mongo/specification.ts';
import { createLogger } from '../../service/logger.ts';
import { playedDeployment } from '../../mongo/testing/played-deployment.ts';
import { DestinationCatalog } from './destination-catalog.ts';
import { DestinationSharding } from './destination-sharding.ts';

describe('DestinationCatalog', () => {
  const namespace = { db: 'shop', coll: 'items' };
  const { signal } = new AbortController();

  /** A destination that does everything it is told, and which commands it was told to end after a time. */
  function obeying() {
    const { deployment, sent } = playedDeployment(() => ({ ok: 1 }));
    const catalog = new DestinationCatalog(deployment, () => undefined, signal);
    const sharding = new DestinationSharding({
      ...{ deployment, catalog, signal },
      options: { buildIndexes: 'beforeDataCopy' },
      logger: createLogger('test', 'fatal'),
      warn: async () => {
        await Promise.resolve();
      },
      step: async (_, run) => {
        await run();
      },
    });
    const limits = () =>
      sent.map(({ command, signal: given }) => [
        Object.keys(command)[0],
        command['maxTimeMS'] !== undefined,
        given !== signal,
      ]);
    return { catalog, sharding, limits };
  }

  it('gives no change of the catalog a deadline: it may take as long as there are documents', async () => {
    const { catalog, limits } = obeying();
    const spec = decodeIndexSpec(BSON.serialize({ v: 2, key: { a: 1 }, name: 'a_1' }));
    await catalog.createIndexes(namespace, [spec]);
    await catalog.modify(namespace, { validator: {} });
    await catalog.convertToCapped(namespace, 4096);
    assert.deepEqual(limits(), [
      ['createIndexes', false, false],
      ['collMod', false, false],
      ['convertToCapped', false, false],
    ]);
  });

  it('gives a command that places documents a deadline, unless it reads or moves them all', async () => {
    const { sharding, limits } = obeying();
    const key = [{ field: 'a', kind: 1 }] as const;
    await sharding.shard(namespace, key);
    await sharding.split(namespace, { a: 1 });
    await sharding.move(namespace, { min: { a: 1 }, max: { a: 2 }, shard: 'one' }, 'two');
    await sharding.refine(namespace, [...key, { field: 'b', kind: 1 }]);
    assert.deepEqual(limits(), [
      ['shardCollection', false, false],
      ['split', true, true],
      ['moveChunk', false, false],
      ['refineCollectionShardKey', false, false],
    ]);
  });
});
