import assert from 'node:assert/strict';
import { Claim } from './claim.ts';

describe('Claim', () => {
  let clocks = [0, 0];
  const claim = (): Claim => {
    clocks = [1_000, 5_000];
    return new Claim(() => [...clocks]);
  };
  const confirm = async (one: Claim): Promise<void> => {
    await one.confirmedBy(async () => {
      await Promise.resolve();
    });
  };
  const refused = { name: 'ClusterUnreachable' };

  it('is not relied on before it is confirmed, nor where that fails', async () => {
    const one = claim();
    assert.throws(one.require, refused);
    await assert.rejects(one.confirmedBy(async () => await Promise.reject(new Error('another'))));
    assert.throws(one.require, refused);
    await confirm(one);
    one.require();
  });

  for (const clock of [0, 1]) {
    it(`is relied on for 20 seconds, by the ${clock === 0 ? 'first' : 'second'} clock too`, async () => {
      const one = claim();
      await confirm(one);
      clocks[clock] = (clocks[clock] ?? 0) + 19_999;
      one.require();
      clocks[clock] += 1;
      assert.throws(one.require, refused);
      await confirm(one);
      one.require();
    });
  }

  it('counts from when it was asked for, not from the answer', async () => {
    const one = claim();
    await one.confirmedBy(async () => {
      clocks = clocks.map((now) => now + 15_000);
      await Promise.resolve();
    });
    clocks = clocks.map((now) => now + 5_000);
    assert.throws(one.require, refused);
  });
});
