import assert from 'node:assert/strict';
import { holderSight } from './holder-sight.ts';
import { clusterSync } from './testing/worlds.ts';

describe('the holder of a Lease', () => {
  const present = clusterSync();
  const { uid = '', name } = present.metadata;
  const sight = holderSight(
    {
      isKnown: (namespace) => namespace === 'known',
      isUnseen: (namespace) => namespace === 'refused',
    },
    { get: (key) => (key.endsWith(`/${name}`) ? present : undefined) },
  );

  for (const [namespace, holder, isGone, isUnseen] of [
    ['known', { name, uid }, false, false],
    ['known', { name, uid: 'of a former one' }, true, false],
    ['known', { name: 'deleted', uid }, true, false],
    ['refused', { name, uid }, false, true],
    ['refused', { name, uid: 'of a former one' }, false, true],
    ['refused', { name: 'deleted', uid }, false, true],
    ['of another operator', { name: 'deleted', uid }, false, false],
  ] as const) {
    it(`${holder.name} (${holder.uid}) in a namespace that is ${namespace} is ${isGone ? '' : 'not '}gone`, () => {
      assert.equal(sight.isGone({ namespace, ...holder }), isGone);
      assert.equal(sight.isUnseen({ namespace, ...holder }), isUnseen);
    });
  }
});
