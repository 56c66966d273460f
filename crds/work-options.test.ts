import assert from 'node:assert/strict';
import { specSchema } from '../operator/operand/testing/spec-fields.ts';
import { readLimitOption, readPreferences, syncerWorkOptions } from '../sync-api/work-options.ts';

interface Bounds {
  readonly minimum?: number;
  readonly maximum?: number;
}

describe('options of the programs in a definition', () => {
  const { syncer } = specSchema('clustersyncs.yaml').properties ?? {};
  const verification = specSchema('syncverifications.yaml').properties ?? {};

  it('have the range that the syncer has for them', () => {
    for (const [name, { range }] of Object.entries(syncerWorkOptions)) {
      const { type, ...bounds } = syncer?.properties?.[name] ?? {};
      const { minimum, maximum } = bounds as Bounds;
      assert.deepEqual([name, type, minimum, maximum], [name, 'integer', ...range]);
    }
  });

  it('are what the verifier takes, also where many pods share the limit', () => {
    const { readPreference, maxBytesPerSecond, parallelism } = verification;
    assert.deepEqual(readPreference?.enum, readPreferences);
    const { minimum, maximum } = (maxBytesPerSecond ?? {}) as Bounds;
    const share = Number(minimum) / Number((parallelism as Bounds).maximum);
    const [lowest, highest] = readLimitOption.range;
    assert.ok(share >= lowest && Number(maximum) <= highest);
  });
});
