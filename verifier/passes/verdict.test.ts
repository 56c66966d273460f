import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import { RetryWarnings } from '../../mongo/retry-warnings.ts';
import { playedCursors } from '../../mongo/testing/played-cursors.ts';
import { playedAdmin } from '../../mongo/testing/played-deployment.ts';
import { createLogger } from '../../service/logger.ts';
import type { Notes } from '../store/recheck-store.ts';
import type { CoordinatorLease } from './coordinator-lease.ts';
import type { Begun } from './following.ts';
import type { PassContext } from './pass-runner.ts';
import { decide } from './verdict.ts';

const none = () => Promise.resolve();
const times = { source: new Timestamp({ t: 7, i: 1 }), destination: new Timestamp({ t: 8, i: 1 }) };

/** Both sides have one view, whose definition the last pass has compared or not. Nothing differs. */
async function decided({ isCompared, isAgain }: { isCompared: boolean; isAgain: boolean }) {
  const view = { name: 'view', type: 'view', options: { viewOn: 'items', pipeline: [] } };
  const { cluster } = playedCursors(() => ({ documents: [view] }));
  const admin = playedAdmin(() => ({ ok: 1, databases: [{ name: 'shop' }] }));
  const side = { ...cluster, admin };
  const { signal } = new AbortController();
  const namespace = { db: 'shop', coll: 'view' };
  const noted: Notes[] = [];
  const context = {
    ...{ signal, logger: createLogger('test', 'fatal') },
    monitor: { retryWarnings: new RetryWarnings(), addRetry: () => undefined },
    stores: {
      tasks: { equalMetadata: () => (isCompared ? [namespace] : []) },
      coverages: { latest: () => Promise.resolve(new Map()), setCounted: none },
      rechecks: {
        add: async (_run: string, _generation: number, notes: readonly Notes[]) => {
          noted.push(...notes);
          await none();
        },
      },
    },
    catalog: { source: side, destination: side, signal, selects: () => Promise.resolve(true) },
  } as unknown as PassContext;
  const updates: object[] = [];
  const generation = { number: 4, epoch: 1, kind: 'last', isAgain, readAfter: times };
  const lease = {
    ...{ run: 'run', epoch: 1, record: { generation }, wake: () => undefined },
    update: async (change: object = {}) => {
      updates.push(change);
      await none();
    },
  } as unknown as CoordinatorLease;
  const start = { isSharded: false };
  const begun = { scope: {}, starts: { source: start, destination: start } } as unknown as Begun;
  const again = await decide(context, lease, begun, { failed: 0 });
  const verdicts = updates.flatMap((update) => ('verdict' in update ? [update.verdict] : []));
  return { again, noted, verdicts };
}

describe('the verdict', () => {
  it('is equal if there is no doubt, also after a pass that is repeated', async () => {
    for (const isAgain of [false, true]) {
      const { again, verdicts } = await decided({ isCompared: true, isAgain });
      assert.deepEqual({ again, verdicts }, { again: undefined, verdicts: ['equal'] });
    }
  });

  it('waits for one more pass where something is in doubt, which reads after the same times', async () => {
    const { again, noted, verdicts } = await decided({ isCompared: false, isAgain: false });
    const rechecks = [{ kind: 'whole', namespace: { db: 'shop', coll: 'view' } }];
    assert.deepEqual(noted, [{ note: 'doubts:4:1', first: 0, rechecks }]);
    assert.deepEqual(again, { doubted: noted[0], readAfter: times });
    assert.deepEqual(verdicts, []);
  });

  it('is none if something is in doubt after the pass that is repeated', async () => {
    const message =
      /^no difference was found, but: shop\.view: its options and indexes were not compared/;
    const deciding = decided({ isCompared: false, isAgain: true });
    await assert.rejects(deciding, { name: 'CheckFailed', message });
  });
});
