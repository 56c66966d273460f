import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { until } from '../../ground/until.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { openSession, type Progress, type VerifierSession } from './verifier-session.ts';

interface Row {
  readonly _id: number;
  readonly value: number;
}

const rowCount = 300;

describe('the differences that a verification leaves open', () => {
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

  async function untilOpen(session: VerifierSession, expected: number): Promise<Progress> {
    let progress = await session.progress();
    await until(`${expected} differences are open`, async () => {
      progress = await session.progress();
      return progress.unresolvedMismatchCount === expected;
    });
    return progress;
  }

  it('are known at each moment, also while a pass has found nothing yet', async () => {
    await rows('destination').deleteOne({ _id: 5 });
    await rows('destination').updateOne({ _id: 77 }, { $set: { value: -1 } });
    await using session = await begin();
    const seen = new Set<string>();
    await until('five passes have ended', async () => {
      const { generation, unresolvedMismatchCount: open } = await session.progress();
      // Before a pass has ended, nothing is said.
      assert.ok(open === 2 || (open === null && generation === 0), `${generation}: ${open}`);
      if (open !== null) seen.add(`${generation} ${open}`);
      return generation >= 5;
    });
    assert.ok(seen.size >= 5, [...seen].join());
    await rows('destination').insertOne({ _id: 5, value: 5 });
    await rows('destination').updateOne({ _id: 77 }, { $set: { value: 77 } });
    const { generation, verdict } = await untilOpen(session, 0);
    assert.ok(generation > 5);
    assert.equal(verdict, null);
    await session.post('writesOff');
    assert.equal((await session.untilComplete()).verdict, 'equal');
  });

  it('are none while documents only differ since they change, and one once one has stopped', async () => {
    const hot = [1, 2, 3];
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
      const said: (number | null)[] = [];
      let withDifferences = 0;
      await until('ten passes have found what changes', async () => {
        const { generation, unresolvedMismatchCount: open } = await session.progress();
        const isNew = said[generation] === undefined;
        said[generation] = open;
        if (generation > 2) assert.equal(open, 0, `pass ${generation}`);
        const { mismatchCount } = await session.progress();
        if (isNew && mismatchCount > 0) withDifferences++;
        return generation >= 8;
      });
      assert.ok(withDifferences >= 2, String(withDifferences));
      stop.abort();
      await writing;
      await write('destination', last);
      // One of them does not get what was written last.
      await rows('destination').updateOne({ _id: 2 }, { $set: { value: last - 1 } });
      await untilOpen(session, 1);
      await session.post('writesOff');
      const { verdict, mismatchCount, unresolvedMismatchCount } = await session.untilComplete();
      assert.deepEqual([verdict, mismatchCount, unresolvedMismatchCount], ['different', 1, 1]);
    } finally {
      stop.abort();
      await writing;
    }
  });
});
