import assert from 'node:assert/strict';
import { combineCollections, readProgress } from '../../../sync-api/syncer-answers.ts';
import { combineProgress } from '../../api/combine.ts';
import type { Instances } from '../../api/instances.ts';
import { RunSource } from './run-source.ts';
import { runKey } from './run-views.ts';

describe('the page of a run', () => {
  it('shows all collections as copied once the copy is done, even if an instance lists none', async () => {
    const facts = { source: 'old', destination: 'new', commit: 'asks', isVerified: true } as const;
    const source = new RunSource(facts, new Date());
    const row = { namespace: 'shop.orders', totalBytes: 1, copiedBytes: 1, isCopied: true };
    const nothing = { collections: [], total: 0, copied: 0 };
    const listed = [{ collections: [row], total: 1, copied: 1 }, nothing];
    source.ask({
      collections: async () => await Promise.resolve(combineCollections(listed, 2)),
    } as unknown as Instances);
    const copiedIn = async (info: string): Promise<number | undefined> => {
      const progress = readProgress({ state: 'RUNNING', info });
      const sync = progress && combineProgress([progress]);
      assert.ok(sync);
      source.show(
        {
          sync,
          ...{ collections: undefined, verification: undefined, commitReadiness: undefined },
          ...{ copyBytesPerSecond: null, eventsPerSecond: null, warning: undefined },
        },
        new Date(),
      );
      const detail = await source.look(runKey.key).read(AbortSignal.timeout(5_000));
      return detail?.collections?.copied;
    };
    assert.equal(await copiedIn('collection copy'), 0);
    assert.equal(await copiedIn('change event application'), 1);
  });
});
