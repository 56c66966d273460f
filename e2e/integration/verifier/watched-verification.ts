import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { MongoClient, type Db } from 'mongodb';
import { messageOf } from '../../../service/errors.ts';
import { sleep } from '../../../service/sleep.ts';
import type { MismatchView } from '../../../verifier/compare/mismatch.ts';
import { assertProven } from '../../ground/assert-proven.ts';
import { keepLog } from '../../ground/keep-log.ts';
import { emptyCluster } from '../../ground/mongod/empty-cluster.ts';
import { startProxiedReplicaSet } from '../../ground/mongod/proxied-replica-set.ts';
import { VerifierProcess } from '../../ground/verifier-process.ts';
import type { WatchedWork } from '../syncer/each-write-fails.ts';
import { WriteWatch } from '../syncer/write-faults.ts';
import type { Progress } from './verifier-session.ts';

interface Row {
  readonly _id: number;
  readonly text?: string;
}

/** Documents of the large collection, in about five ranges; of a small one. */
const rows = { many: 120, few: 3 } as const;
const smallCollections = 3;

/** A fault costs seconds, and a process that has to take the place of another one as many. */
const deadlineMs = 240_000;
const pollMs = 40;

/** What is to be found: what was planted, what was written since, and not what was repaired. */
const wanted = [
  'shop.few0 differentDocument 2',
  'shop.many extraDocument 500',
  'shop.many missingDocument 100',
  'shop.many missingDocument 3',
  'shop.many missingIndex text',
];

/**
 * Starts two replica sets that are compared again and again, with a watch on what the verifier writes. A run compares them twice, first
 * with differences and then without; it rejects unless exactly these differences were found, and then none, with each document
 * accounted for.
 */
export async function startWatchedVerification(): Promise<WatchedWork> {
  await using stack = new AsyncDisposableStack();
  const [source, destination] = await Promise.all(
    (['source', 'destination'] as const).map(async (name) =>
      stack.use(await startProxiedReplicaSet({ name, members: 1 }, 'verifier')),
    ),
  );
  assert.ok(source && destination);
  const clients = [source, destination].map(({ set }) =>
    stack.use(new MongoClient(set.uri('admin', { w: 'majority' }))),
  );
  const [there, here] = clients.map((client) => client.db('shop'));
  assert.ok(there && here);
  const watch = new WriteWatch([source, destination], {
    stateDatabase: 'clustersync_verifier',
    periodic: /seenAt|heartbeatAt|renewedAt|until\)$|^appendOplogNote/,
  });
  const uris = {
    srcURI: source.set.uri('syncer'),
    destURI: destination.set.uri('syncer'),
    metaURI: destination.set.uri('syncer'),
  };
  const admin = [source, destination].map(({ set }) => set.uri('admin'));

  async function findDifferences(verifier: PersistentVerifier): Promise<void> {
    assert.ok(there && here);
    await verifier.give('check', ({ phase, verdict }) => phase !== 'idle' || verdict !== null);
    await verifier.reached('differences', ({ mismatchCount }) => mismatchCount > 0);
    await writeToBoth(there, here);
    await verifier.give('writesOff', ({ writesOff }) => writesOff);
    const { verdict, mismatchCount } = await verifier.verdict();
    assert.equal(verdict, 'different');
    assert.deepEqual(await verifier.mismatches(), wanted);
    assert.equal(mismatchCount, wanted.length);
  }

  async function findNone(verifier: PersistentVerifier): Promise<void> {
    await verifier.give('check', ({ phase, verdict }) => phase !== 'idle' || verdict !== null);
    await verifier.give('writesOff', ({ writesOff }) => writesOff);
    const { verdict, mismatchCount, proof } = await verifier.verdict();
    assert.deepEqual([verdict, mismatchCount], ['equal', 0]);
    assert.deepEqual(await verifier.mismatches(), []);
    await assertProven(proof, ...sidesOf(admin));
  }

  const moved = stack.move();
  return {
    async run(planned) {
      watch.begin();
      await Promise.all(clients.map(emptyCluster));
      await prepare(there, here);
      let current: VerifierProcess | undefined;
      const kill = (): void => {
        if (current?.pid !== undefined) process.kill(current.pid, 'SIGKILL');
      };
      watch.begin(planned && { ...planned, kill });
      for (const [attempt, find] of [findDifferences, findNone].entries()) {
        if (attempt === 1) await repair(here);
        const options = { partitionMebibytes: 0.01, workers: 2, attempt, id: 'verifier' };
        await using verifier = await VerifierProcess.start({ uris, options });
        current = verifier;
        try {
          await find(new PersistentVerifier(verifier));
        } catch (error) {
          throw await explained(`${watch.met ?? 'no write'}: ${messageOf(error)}`, verifier);
        }
      }
      const { order, met } = watch;
      return { order, met };
    },
    [Symbol.asyncDispose]: async () => {
      await moved.disposeAsync();
    },
  };
}

/** Operates a verifier as the operator does: starts its process again when that has ended, and gives a command until it is taken. */
class PersistentVerifier {
  readonly #verifier: VerifierProcess;

  constructor(verifier: VerifierProcess) {
    this.#verifier = verifier;
  }

  /** Gives a command until it is taken. Rejects when one that was acknowledged is not. */
  async give(command: string, isTaken: (progress: Progress) => boolean): Promise<void> {
    const endMs = performance.now() + deadlineMs;
    while (!isTaken(await this.reached(`the progress, for ${command}`, () => true))) {
      const answer = await this.#verifier.post(command).catch(() => undefined);
      const { success } = (answer ?? {}) as { readonly success?: boolean };
      if (success !== true) assert.ok(performance.now() < endMs, JSON.stringify(answer));
      else await this.reached(`${command}, which was acknowledged`, isTaken);
    }
  }

  /** Waits for a progress. Rejects when the verification has failed. */
  async reached(what: string, isReached: (progress: Progress) => boolean): Promise<Progress> {
    const endMs = performance.now() + deadlineMs;
    for (;;) {
      if (this.#verifier.pid === undefined) await this.#verifier.restart();
      const progress = await this.#verifier.progress().catch(() => undefined);
      if (progress && progress.error !== null) throw new Error(progress.error);
      if (progress && isReached(progress)) return progress;
      if (performance.now() > endMs)
        throw new Error(`not reached: ${what}, ${JSON.stringify(progress)}`);
      await sleep(pollMs, new AbortController().signal);
    }
  }

  async verdict(): Promise<Progress> {
    return await this.reached('a verdict', ({ phase, verdict }) => {
      return phase === 'idle' && verdict !== null;
    });
  }

  /** What it lists, in short and sorted. */
  async mismatches(): Promise<string[]> {
    const body = await this.#verifier.get('/api/v1/mismatches?limit=100');
    const found = body['mismatches'] as readonly MismatchView[];
    return found
      .map(({ namespace, kind, id, index }) => [namespace, kind, idText(id) ?? index].join(' '))
      .sort();
  }
}

function idText(id: string | null | undefined): string | undefined {
  if (typeof id !== 'string') return undefined;
  return (JSON.parse(id) as { readonly $numberInt: string }).$numberInt;
}

function sidesOf(uris: readonly string[]): [string, string] {
  const [source = '', destination = ''] = uris;
  return [source, destination];
}

/** An error, with where the verifier's log is. */
async function explained(message: string, verifier: VerifierProcess): Promise<Error> {
  const path = await keepLog(verifier, `every-write-${randomUUID()}`);
  return new Error(`${message}\nlog: ${path}`);
}

async function prepare(there: Db, here: Db): Promise<void> {
  const text = 'x'.repeat(400);
  const many = Array.from({ length: rows.many }, (_, _id): Row => ({ _id, text }));
  const few = Array.from({ length: rows.few }, (_, _id): Row => ({ _id }));
  for (const db of [there, here]) {
    await db.collection<Row>('many').insertMany(many);
    await db.collection('many').createIndexes([{ key: { text: 1 }, name: 'text' }]);
    for (let number = 0; number < smallCollections; number++)
      await db.collection<Row>(`few${number}`).insertMany(few);
  }
  await here.collection('many').dropIndex('text');
  await here.collection<Row>('many').deleteMany({ _id: { $in: [3, 4] } });
  await here.collection<Row>('many').insertOne({ _id: 500 });
  await here.collection<Row>('few0').updateOne({ _id: 2 }, { $set: { text: 'other' } });
}

/** What changes in the meantime: the same on both sides, a difference less, and one more. */
async function writeToBoth(there: Db, here: Db): Promise<void> {
  for (const db of [there, here]) {
    await db.collection<Row>('many').insertMany([{ _id: 200 }, { _id: 201 }]);
    await db.collection<Row>('few1').updateOne({ _id: 1 }, { $set: { text: 'changed' } });
    await db.collection<Row>('late').insertOne({ _id: 1 });
  }
  const four = await there.collection<Row>('many').findOne({ _id: 4 });
  assert.ok(four);
  await here.collection<Row>('many').insertOne(four);
  await here.collection<Row>('many').deleteOne({ _id: 100 });
}

/** Repairs what is different. */
async function repair(here: Db): Promise<void> {
  const text = 'x'.repeat(400);
  await here.collection<Row>('many').insertMany([3, 100].map((_id) => ({ _id, text })));
  await here.collection<Row>('many').deleteOne({ _id: 500 });
  await here.collection('many').createIndexes([{ key: { text: 1 }, name: 'text' }]);
  await here.collection<Row>('few0').updateOne({ _id: 2 }, { $unset: { text: '' } });
}
