import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { openDifferences, type OpenDifferences } from '../../../sync-api/open-differences.ts';
import { readVerification } from '../../../sync-api/verifier-answers.ts';
import { until } from '../../ground/until.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { openSession, type Progress, type VerifierSession } from './verifier-session.ts';

interface Row {
  readonly _id: number;
  readonly value: number;
}

const rowCount = 300;

describe('the differences that the last pass has left open', () => {
  const pair = useReplicaSetPair();

  const rows = (side: 'source' | 'destination') => pair[side].collection<Row>('rows');

  beforeEach(async () => {
    for (const side of ['source', 'destination'] as const) {
      await pair[side].dropDatabase();
      await rows(side).insertMany(
        Array.from({ length: rowCount }, (_, _id) => ({ _id, value: _id })),
      );
    }
  });

  async function begin(): Promise<VerifierSession> {
    const [srcURI = '', destURI = ''] = pair.sets.map((set) => set.uri('syncer'));
    const session = await openSession({ srcURI, destURI });
    await session.post('check');
    return session;
  }

  async function untilOpen(
    session: VerifierSession,
    expected: OpenDifferences,
    maxLagSeconds: number,
  ): Promise<Progress> {
    let progress = await session.progress();
    await until(`open differences: ${expected}`, async () => {
      progress = await session.progress();
      return openOf(progress, maxLagSeconds) === expected;
    });
    return progress;
  }

  it('are known at each moment, also while a pass has found nothing yet', async () => {
    await rows('destination').deleteOne({ _id: 5 });
    await rows('destination').updateOne({ _id: 77 }, { $set: { value: -1 } });
    await using session = await begin();
    const seen = new Set<number>();
    await until('five passes have ended', async () => {
      const progress = await session.progress();
      const { generation, lastPass } = progress;
      // Before a pass has ended, nothing is said.
      assert.ok(lastPass !== null || generation === 0, String(generation));
      assert.equal(lastPass?.mismatchCount ?? 2, 2);
      assert.notEqual(openOf(progress, 3600), 'none', JSON.stringify(lastPass));
      if (lastPass) seen.add(lastPass.generation);
      return generation >= 5;
    });
    assert.ok(seen.size >= 4, [...seen].join());
    await untilOpen(session, 'old', 2);
    await rows('destination').insertOne({ _id: 5, value: 5 });
    await rows('destination').updateOne({ _id: 77 }, { $set: { value: 77 } });
    const { generation, verdict } = await untilOpen(session, 'none', 0);
    assert.ok(generation > 5);
    assert.equal(verdict, null);
    await session.post('writesOff');
    assert.equal((await session.untilComplete()).verdict, 'equal');
  });

  it('are explained by the lag while documents change, and not once one has stopped', async () => {
    const hot = [1, 2, 3];
    const maxLagSeconds = 8;
    const stop = new AbortController();
    let last = 0;
    /** The destination gets each value a second later, like that of a sync that lags. */
    const write = async (side: 'source' | 'destination', value: number): Promise<void> => {
      await rows(side).updateMany({ _id: { $in: hot } }, { $set: { value } });
    };
    const writing = (async () => {
      const lagging: number[] = [];
      while (!stop.signal.aborted) {
        last++;
        await write('source', last);
        const behind = lagging.push(last) > 10 ? lagging.shift() : undefined;
        if (behind !== undefined) await write('destination', behind);
        // Not a wait for anything: how fast it is written.
        await setTimeout(100);
      }
    })();
    try {
      await using session = await begin();
      // What the first pass has found is not explained before it was compared again for as long as the lag.
      await until('passes have been short for long enough', async () => {
        const progress = await session.progress();
        const { lastPass } = progress;
        if ((lastPass?.shortSeconds ?? 0) > maxLagSeconds) return true;
        if (lastPass && lastPass.mismatchCount > 0)
          assert.equal(openOf(progress, maxLagSeconds), 'old', JSON.stringify(lastPass));
        return false;
      });
      const { generation: first } = await session.progress();
      const withDifferences = new Set<number>();
      await until('five more passes have found what changes', async () => {
        const progress = await session.progress();
        const { lastPass, generation } = progress;
        assert.match(String(openOf(progress, maxLagSeconds)), /^(?:none|recent)$/);
        if (lastPass && lastPass.mismatchCount > 0) withDifferences.add(lastPass.generation);
        return generation >= first + 5;
      });
      assert.ok(withDifferences.size >= 2, [...withDifferences].join());
      stop.abort();
      await writing;
      await write('destination', last);
      // One of them does not get what was written last.
      await rows('destination').updateOne({ _id: 2 }, { $set: { value: last - 1 } });
      const { lastPass } = await untilOpen(session, 'old', maxLagSeconds);
      assert.equal(lastPass?.mismatchCount, 1);
      await session.post('writesOff');
      const { verdict, mismatchCount } = await session.untilComplete();
      assert.deepEqual([verdict, mismatchCount], ['different', 1]);
    } finally {
      stop.abort();
      await writing;
    }
  });
});

function openOf(progress: Progress, maxLagSeconds: number): OpenDifferences | undefined {
  const reported = readVerification(progress);
  assert.ok(reported);
  return openDifferences(reported, maxLagSeconds);
}
