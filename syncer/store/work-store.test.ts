import assert from 'node:assert/strict';
import { MongoServerError } from 'mongodb';
import { RetryWarnings } from '../../mongo/retry-warnings.ts';
import { WorkStore, type WorkStoreParts } from './work-store.ts';

describe('WorkStore', () => {
  it('does not repeat what would take back later writes beside an attempt that has failed', async () => {
    let attempts = 0;
    const store = {
      resetInstances: async () => {
        attempts++;
        await Promise.resolve();
        if (attempts === 1) throw new MongoServerError({ message: 'killed', code: 11_601 });
      },
    };
    const parts = {
      store,
      monitor: { retryWarnings: new RetryWarnings(), addRetry: () => undefined },
      logger: { warn: () => undefined },
      signal: new AbortController().signal,
    };
    const work = new WorkStore(parts as unknown as WorkStoreParts);
    await assert.rejects(work.resetInstances(), { code: 11_601 });
    assert.equal(attempts, 1);
  });
});
