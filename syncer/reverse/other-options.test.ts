import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import schema from '../../sync-api/start-body.schema.json' with { type: 'json' };
import { otherOptions } from '../../sync-api/testing/start-examples.ts';
import { parseResetBody, type StartOptions } from '../options/command-bodies.ts';
import { digestOf, requireSameOptions } from '../store/instances.ts';
import type { SyncRecord } from '../store/records.ts';
import { requireNoParameters } from '../store/transitions.ts';
import { reversibleSync } from '../testing/reversible-sync.ts';
import { reversedState } from './hand-over.ts';

const record = reversibleSync();

/** Each field of a start with a value other than the sync's, which blocks writes and is reversible. */
const fields: Readonly<Record<string, Partial<StartOptions>>> = {
  ...Object.fromEntries(otherOptions.map(([name, , other]) => [name, other])),
  source: { source: 'cluster1' },
  destination: { destination: 'cluster0' },
  enableUserWriteBlocking: { enableUserWriteBlocking: false },
  reversible: { reversible: false },
  verification: { verification: { enabled: true } },
};

/** The sync, committed and reversed this many times. */
function afterReversals(count: number): SyncRecord {
  let sync = record;
  for (let turn = 0; turn < count; turn++) {
    const committed = { ...sync, state: 'COMMITTED', writableTime: new Timestamp(1n) } as const;
    ({ record: sync } = reversedState(committed, [], []));
  }
  return sync;
}

describe('a sync that is reversed, asked for with another', () => {
  it('field: each of a start has its place below, but limits, which change while a sync runs', () => {
    assert.deepEqual(
      [...Object.keys(fields), 'limits'].sort(),
      Object.keys(schema.properties).sort(),
    );
  });

  for (const [name, other] of Object.entries(fields)) {
    it(`${name} is refused as another sync, and a reversal takes none`, () => {
      const asked = { ...record.options, ...other };
      for (const reversals of [0, 1, 2]) {
        const sync = afterReversals(reversals);
        assert.equal(sync.reversals, reversals);
        assert.notEqual(digestOf({ options: asked, reversals: 0 }), digestOf(sync));
        assert.throws(
          () => {
            requireSameOptions(asked, sync);
          },
          { name: 'DifferentSync', message: new RegExp(`: ${name} was .*, and is .* here$`) },
        );
        requireSameOptions(record.options, sync);
      }
      for (const value of Object.values({ ...other, ...record.options }) as unknown[]) {
        const body = { [name]: value };
        assert.throws(() => {
          requireNoParameters('reverse', body);
        }, /reverse takes no parameters/);
        assert.throws(() => parseResetBody({ destination: 'Keep', ...body }), {
          name: 'InvalidBody',
        });
      }
    });
  }
});
