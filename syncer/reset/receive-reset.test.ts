import assert from 'node:assert/strict';
import type { ClusterPair } from '../store/clusters.ts';
import { digestOf } from '../store/instances.ts';
import type { SyncRecord } from '../store/records.ts';
import { reversibleSync } from '../testing/reversible-sync.ts';
import { receiveReset, type ResetScope } from './receive-reset.ts';

const stored: SyncRecord = reversibleSync();
const options = { ...stored.options, reversible: false };
const another: SyncRecord = { ...stored, options, startedAt: new Date(0) };

/**
 * Gives a reset of a sync to an instance that knows none.
 * @param finds - what the store holds, one look after the other; the last one stays.
 */
async function reset(
  scope: ResetScope,
  finds: readonly (SyncRecord | undefined)[],
  isReceived = true,
) {
  let looks = 0;
  let given = 0;
  const place = {
    receiveReset: async () => {
      given++;
      return await Promise.resolve(isReceived);
    },
  };
  const pair = {
    findRecord: async () => await Promise.resolve(finds[Math.min(looks++, finds.length - 1)]),
    requireMember: () => undefined,
    recordOn: () => place,
  } as unknown as ClusterPair;
  const receipt = await receiveReset(pair, undefined, 'Clean', scope);
  return { receipt, given };
}

/** The name of the error that it is refused with, and how often the store was given it. */
async function refusalOf(...given: Parameters<typeof reset>): Promise<readonly unknown[]> {
  const { receipt, given: times } = await reset(...given);
  return [receipt.kind === 'refused' ? receipt.error.name : receipt.kind, times];
}

describe('receiveReset', () => {
  it('ends the sync that it is for, also once that is reversed, and any if it does not say which', async () => {
    const { source, destination } = stored.options;
    const exchanged = { ...stored.options, source: destination, destination: source };
    const reversed: SyncRecord = { ...stored, options: exchanged, reversals: 1 };
    const digest = digestOf(stored);
    const cases = [
      [{ digest }, stored],
      [{ digest }, reversed],
      [{ digest: undefined }, another],
      [{ startedAt: stored.startedAt }, stored],
    ] as const;
    for (const [scope, record] of cases) {
      const expected = { receipt: { kind: 'received', record }, given: 1 };
      assert.deepEqual(await reset(scope, [record]), expected);
    }
  });

  it('does not touch another sync, which this process may know nothing of', async () => {
    const scope = { digest: digestOf(another) };
    assert.deepEqual(await refusalOf(scope, [stored]), ['DifferentSync', 0]);
  });

  it('does not touch one that was started since with the same options, where it is for that of before', async () => {
    const scope = { startedAt: another.startedAt };
    assert.deepEqual(await refusalOf(scope, [stored]), ['DifferentSync', 0]);
  });

  it('is refused for the sync that has come in between, not for what that one forbids', async () => {
    const committed: SyncRecord = { ...another, reversals: 2 };
    const scope = { digest: digestOf(stored) };
    assert.deepEqual(await refusalOf(scope, [stored, committed], false), ['DifferentSync', 1]);
  });

  it('does not return a sync that was started after the one that it has ended', async () => {
    const later: SyncRecord = { ...stored, startedAt: new Date(0) };
    const { receipt } = await reset({ digest: digestOf(stored) }, [stored, later]);
    assert.deepEqual(receipt, { kind: 'received', record: undefined });
  });

  it('is done where nothing is stored', async () => {
    const expected = { receipt: { kind: 'received', record: undefined }, given: 0 };
    assert.deepEqual(await reset({ digest: digestOf(stored) }, [undefined]), expected);
  });
});
