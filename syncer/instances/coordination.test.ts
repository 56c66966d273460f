import assert from 'node:assert/strict';
import fc from 'fast-check';
import { UUID } from 'mongodb';
import { changesOf, isCopiedBy } from './coordination.ts';

describe('the shares of instances', () => {
  it('have each collection and each partition once', () => {
    const count = fc.integer({ min: 1, max: 12 });
    const bytes = fc.uint8Array({ minLength: 16, maxLength: 16 });
    fc.assert(
      fc.property(count, bytes, fc.nat(600), (instances, id, index) => {
        const collection = { uuid: new UUID(Buffer.from(id)) };
        const partition = { collection: collection.uuid, index, min: null, max: null };
        for (const part of ['all', partition] as const) {
          const owners = Array.from({ length: instances }, (_, at) => at).filter((at) =>
            isCopiedBy({ index: at, count: instances }, collection, part),
          );
          assert.equal(owners.length, 1);
        }
      }),
    );
  });

  it('spread the partitions of a collection evenly', () => {
    const collection = { uuid: new UUID('00000000-0000-4000-8000-000000000000') };
    const copied = [0, 1, 2].map(
      (at) =>
        Array.from({ length: 30 }, (_, index) => index).filter((index) =>
          isCopiedBy({ index: at, count: 3 }, collection, {
            ...{ collection: collection.uuid, index, min: null, max: null },
          }),
        ).length,
    );
    assert.deepEqual(copied, [10, 10, 10]);
  });

  it('ask for everything where there is one', () => {
    assert.equal(changesOf({ index: 0, count: 1, isByValue: true }, []), undefined);
    assert.notEqual(changesOf({ index: 0, count: 2, isByValue: true }, []), undefined);
  });
});
