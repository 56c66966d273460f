import assert from 'node:assert/strict';
import { passResult } from './pass-result.ts';

function at(seconds: number): Date {
  return new Date(Date.UTC(2026, 0, 1) + seconds * 1000);
}

describe('passResult', () => {
  const found = { mismatches: 2, longestMs: 7, isWhole: true };
  const first = { ...found, generation: 3, endedAt: at(0), shortSince: at(-100) };
  const second = { number: 4, startedAt: at(1) };

  it('tells what a pass has found, and since when passes have been short', () => {
    assert.deepEqual(passResult(second, first, { ...found, mismatches: 1, endedAt: at(61) }), {
      ...{ ...found, mismatches: 1, generation: 4 },
      ...{ endedAt: at(61), shortSince: at(-100) },
    });
  });

  it('begins again with a long pass, and where the pass before is not known', () => {
    const long = passResult(second, first, { ...found, endedAt: at(61.001) });
    assert.deepEqual(long.shortSince, at(61.001));
    for (const last of [null, { ...first, generation: 2 }]) {
      const { shortSince } = passResult(second, last, { ...found, endedAt: at(2) });
      assert.deepEqual(shortSince, at(2));
    }
  });

  it('leaves what another coordinator has recorded of the same pass', () => {
    const recorded = { ...first, generation: 4 };
    assert.equal(passResult(second, recorded, { ...found, endedAt: at(9) }), recorded);
  });
});
