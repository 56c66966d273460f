import assert from 'node:assert/strict';
import { MongoServerError } from 'mongodb';
import type { Deployment } from '../../mongo/deployment.ts';
import type { Logger } from '../../service/logger.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import { Source } from '../source/source.ts';
import { Commit } from './commit.ts';

type SourceParts = ConstructorParameters<typeof Source>[0];
type CommitParts = ConstructorParameters<typeof Commit>[0];

describe('Commit', () => {
  it('stops trying to fix its time when the signal of its caller is aborted, however long the source fails', async () => {
    const asked = new AbortController();
    const reason = new Error('nobody asks any more');
    /** Runs commands, which fail with a temporary error. */
    const client = {
      get topology(): never {
        asked.abort(reason);
        throw new MongoServerError({ message: 'killed', code: 11_601 });
      },
    };
    const { signal } = new AbortController();
    const logger = { warn: () => undefined } as unknown as Logger;
    const monitor = new SyncMonitor();
    const source = new Source({
      ...({ options: {}, logger, monitor, signal } as unknown as SourceParts),
      deployment: {
        isSharded: false,
        admin: { databaseName: 'admin', client },
      } as unknown as Deployment,
    });
    const live = {
      current: { commitTime: null, options: { enableUserWriteBlocking: false } },
      update: async () => {
        await Promise.resolve();
      },
    };
    const store = { live, requireLease: () => undefined };
    const commit = new Commit({
      ...({ source, store, options: {}, monitor, logger, signal } as unknown as CommitParts),
    });
    await assert.rejects(commit.fixTime(asked.signal), reason);
  });
});
