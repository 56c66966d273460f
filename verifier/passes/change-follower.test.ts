import assert from 'node:assert/strict';
import { Binary, BSON, Long, MongoServerError, Timestamp, type Document } from 'mongodb';
import { fakeCluster } from '../../mongo/testing/fake-cluster.ts';
import { createLogger } from '../../service/logger.ts';
import { VerifierMonitor } from '../monitor.ts';
import type { Position, Recheck } from '../store/records.ts';
import { ChangeFollower, ChangesLost, type ChangeFollowerOptions } from './change-follower.ts';
import { ChangeLog } from './change-log.ts';

const time = (second: number): Timestamp => new Timestamp({ t: second, i: 1 });
const tokenAt = (second: number): Document => ({
  _data: `82${second.toString(16).padStart(8, '0')}000000012b0229296e04`,
});
const positionAt = (second: number): Position => ({
  token: new Binary(BSON.serialize(tokenAt(second))),
  time: time(second),
});

/** A batch that ends at a second. */
interface Batch {
  readonly second: number;
  readonly events: readonly Document[];
}

const batch = (second: number, ...events: readonly Document[]): Batch => ({ second, events });

function event(operationType: string, coll: string, more: Document = {}): Document {
  return { operationType, ns: { db: 'shop', coll }, documentKey: { _id: coll }, ...more };
}

function failure(code: number): MongoServerError {
  return new MongoServerError({ code, errmsg: `code ${code}` });
}

const historyLost = 286;
const notPrimary = 10107;

/** What a follower does with a stream, which ends with its last step. */
class Scene {
  /** How the stream was opened each time. */
  readonly opened: Document[] = [];
  readonly stored: Recheck[] = [];
  readonly retries: string[] = [];
  storedCount = 0;
  isStoreBroken = false;
  /** Called before each step. */
  onStep: (step: number) => Promise<void> = () => Promise.resolve();
  readonly log = new ChangeLog(
    {
      add: async (_, rechecks) => {
        if (this.isStoreBroken) throw failure(notPrimary);
        this.stored.push(...rechecks);
        await Promise.resolve();
      },
      addTallies: () => Promise.resolve(),
      setPositions: () => Promise.resolve(),
    },
    { generation: 0, positions: { source: null, destination: null } },
  );
  readonly monitor = new VerifierMonitor();
  readonly follower: ChangeFollower;
  #step = 0;

  constructor(steps: readonly (Batch | Error)[], parts: Partial<ChangeFollowerOptions> = {}) {
    const cluster = fakeCluster(async ({ aggregate, pipeline, killCursors }) => {
      if (killCursors !== undefined) return {};
      const id = Long.ONE;
      const ns = 'admin.$cmd.aggregate';
      if (aggregate !== undefined) {
        this.opened.push((pipeline as Document[])[0]?.['$changeStream'] as Document);
        return { cursor: { id, ns, firstBatch: [], postBatchResumeToken: tokenAt(1) } };
      }
      await this.onStep(this.#step);
      const step = steps[this.#step++] ?? failure(historyLost);
      if (step instanceof Error) throw step;
      const { second, events } = step;
      return { cursor: { id, ns, nextBatch: events, postBatchResumeToken: tokenAt(second) } };
    });
    const { monitor } = this;
    monitor.addRetry = (work) => this.retries.push(work);
    this.follower = new ChangeFollower({
      monitor,
      side: 'source',
      cluster,
      isSharded: false,
      from: time(1),
      selects: ({ coll }) => Promise.resolve(!coll.startsWith('left')),
      reached: null,
      log: this.log,
      onStored: () => {
        this.storedCount += 1;
      },
      logger: createLogger('test', 'fatal'),
      signal: new AbortController().signal,
      ...parts,
    });
  }

  /** The error with which the following ends. */
  async end(): Promise<unknown> {
    return await this.follower.run().catch((error: unknown) => error);
  }

  /** Whether a time counts as passed now. */
  async hasPassed(second: number): Promise<boolean> {
    const passed = this.follower.passed(time(second)).then(() => true);
    const soon = new Promise<false>((resolve) => {
      setImmediate(() => {
        resolve(false);
      });
    });
    return await Promise.race([passed, soon]);
  }
}

describe('ChangeFollower', () => {
  it('notes the changes that are selected: of a renaming each name for itself, of a database all', async () => {
    const scene = new Scene([
      batch(2, event('insert', 'a'), event('insert', 'left'), event('modify', 'left')),
      batch(3, event('rename', 'b', { to: { db: 'shop', coll: 'left' } })),
      batch(4, { operationType: 'dropDatabase', ns: { db: 'shop' } }, event('modify', 'c')),
      batch(4),
    ]);
    await scene.end();
    assert.deepEqual(
      scene.stored
        .map((each) => `${each.kind} ${each.kind === 'database' ? each.db : each.namespace.coll}`)
        .sort(),
      ['database shop', 'ids a', 'metadata c', 'whole b'],
    );
    assert.equal(scene.monitor.changesSeen, 4);
  });

  it('stores what has come when nothing else comes, and no position alone soon after', async () => {
    const scene = new Scene([batch(2, event('insert', 'a')), batch(3), batch(4), batch(5)]);
    await scene.end();
    assert.equal(scene.stored.length, 1);
    assert.equal(scene.storedCount, 1);
  });

  it('has passed a time when something later has come, or nothing more at that time', async () => {
    for (const [isSharded, expected] of [
      [false, [false, false, true, true]],
      [true, [false, false, false, true]],
    ] as const) {
      const scene = new Scene(
        [batch(2, event('insert', 'a')), batch(2), batch(3, event('insert', 'a'))],
        { isSharded },
      );
      const found: boolean[] = [];
      scene.onStep = async () => {
        found.push(await scene.hasPassed(2));
      };
      await scene.end();
      assert.deepEqual(found, expected, isSharded ? 'sharded' : 'replica set');
      assert.equal(await scene.hasPassed(3), false, 'the last batch was not empty');
    }
  });

  it('does not take the first answer of a stream, which is always empty, for its end', async () => {
    const scene = new Scene([batch(1)]);
    const found: boolean[] = [];
    scene.onStep = async () => {
      found.push(await scene.hasPassed(1));
    };
    await scene.end();
    assert.deepEqual(found, [false, true]);
  });

  it('wakes who waits for a time', async () => {
    const scene = new Scene([batch(2), batch(3), batch(4)]);
    const passed = scene.follower.passed(time(3));
    await scene.end();
    await passed;
  });

  it('opens the stream again after what it has read, when a server has failed', async () => {
    const scene = new Scene([failure(notPrimary), batch(2), failure(notPrimary), batch(3)]);
    const error = await scene.end();
    assert.ok(error instanceof ChangesLost);
    assert.match(error.message, /of the source/);
    assert.deepEqual(scene.retries, ['change stream', 'change stream']);
    assert.deepEqual(
      scene.opened.map(
        (stream): unknown => stream['startAtOperationTime'] ?? stream['resumeAfter'],
      ),
      [time(1), tokenAt(1), tokenAt(2)],
    );
  });

  it('continues from where another coordinator has got', async () => {
    const scene = new Scene([], { reached: positionAt(7) });
    assert.equal(await scene.hasPassed(6), true);
    assert.equal(await scene.hasPassed(7), false);
    await scene.end();
    const [stream] = scene.opened;
    assert.deepEqual(stream?.['resumeAfter'], tokenAt(7));
    assert.equal(stream?.['startAtOperationTime'], undefined);
  });

  it('ends when changes cannot be stored: they have left the stream', async () => {
    const scene = new Scene([batch(2, event('insert', 'a')), batch(2), batch(2)]);
    scene.isStoreBroken = true;
    const error = await scene.end();
    assert.ok(error instanceof MongoServerError);
    assert.equal(error.code, notPrimary, 'it would be tried again if it came from the stream');
    assert.equal(scene.opened.length, 1);
  });

  it('ends with an error of another kind as it is', async () => {
    const refused = failure(13);
    assert.equal(await new Scene([refused]).end(), refused);
  });
});
