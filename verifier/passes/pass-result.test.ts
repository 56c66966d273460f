import assert from 'node:assert/strict';
import { foundBy, passResult } from './pass-result.ts';

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

describe('foundBy', () => {
  const ended = { failed: 0, added: 0, processing: 0 };
  const last = { generation: 4, mismatches: 0 };

  it('says that nothing was found only of a recorded end without differences, whose tasks have all ended', () => {
    const cases = [
      [{}, last, 'nothing'],
      [{}, { ...last, mismatches: 1 }, 'differences'],
      [{ processing: 1 }, { ...last, mismatches: 1 }, 'differences'],
      [{ failed: 1 }, last, 'differences'],
      [{ failed: 1 }, null, 'differences'],
      [{ processing: 1 }, last, 'unknown'],
      [{ added: 1 }, last, 'unknown'],
      [{}, null, 'unknown'],
      [{}, { ...last, generation: 3 }, 'unknown'],
      [{}, { generation: 3, mismatches: 1 }, 'unknown'],
    ] as const;
    for (const [counts, recorded, expected] of cases)
      assert.equal(foundBy({ number: 4 }, { ...ended, ...counts }, recorded), expected);
  });
});
