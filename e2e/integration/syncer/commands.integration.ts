import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { MongoClient } from 'mongodb';
import { sleep } from '../../../service/sleep.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { forward, useClusterPair, type Side } from './cluster-pair.ts';
import { isReversiblePair } from './skip-reversal.ts';
import { canBeSlow, holdCommands, type Obstacle } from './slow-commands.ts';

const blocking = { ...forward, enableUserWriteBlocking: true } as const;
const commands = ['start', 'pause', 'resume', 'commit', 'reverse'] as const;
type Command = (typeof commands)[number];

/** A moment in the life of a sync: what is refused then, and the command that leads on. */
interface Moment {
  readonly state: string;
  /** What is held from before the next command on, so that no moment passes by until one that releases it. */
  readonly hold?: 'copy' | 'changes';
  readonly isReleasing?: true;
  /** What the progress shows when the moment has come. */
  readonly info: string | null;
  /** Other errors than InvalidStateTransition. */
  readonly errors?: Partial<Record<Command, string>>;
  /** Undefined if it continues by itself. */
  readonly next: Command | undefined;
}

const life: readonly Moment[] = [
  { state: 'IDLE', info: null, next: 'start', hold: 'copy' },
  {
    state: 'RUNNING',
    info: 'collection copy',
    errors: { commit: 'CannotCommitYet' },
    next: 'pause',
  },
  { state: 'PAUSED', info: 'collection copy', next: 'resume', isReleasing: true },
  { state: 'RUNNING', info: 'change event application', next: 'commit', hold: 'changes' },
  {
    state: 'COMMITTING',
    info: 'waiting for commit to complete',
    next: undefined,
    isReleasing: true,
  },
  { state: 'COMMITTED', info: 'commit completed', next: 'reverse' },
  { state: 'RUNNING', info: 'change event application', next: 'pause' },
  { state: 'PAUSED', info: 'change event application', next: 'resume' },
  { state: 'RUNNING', info: 'change event application', next: 'commit' },
  { state: 'COMMITTED', info: 'commit completed', next: undefined },
];

/** The same where it cannot be reversed: it ends with the first commit. */
const lifeUntilCommitted: readonly Moment[] = [
  ...life.slice(0, 5),
  {
    state: 'COMMITTED',
    info: 'commit completed',
    errors: { reverse: 'NotReversible' },
    next: undefined,
  },
];

/** Which commands are taken in which state: all others are refused. */
const taken: Readonly<Record<string, readonly Command[]>> = {
  IDLE: ['start'],
  RUNNING: ['pause', 'commit'],
  PAUSED: ['resume'],
  COMMITTED: ['reverse'],
};

const never = new AbortController().signal;

describe('commands', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  let reversible = true;
  const bodyOf = (command: Command): object =>
    command === 'start' ? { ...blocking, reversible } : {};
  before(async () => {
    reversible = await isReversiblePair();
  });
  beforeEach(async () => {
    await pair.reset();
    const shop = pair.source.client.db('shop');
    for (const name of ['a', 'b', 'c'])
      await shop.collection(name).insertMany(Array.from({ length: 50 }, (_, n) => ({ n })));
    const indexes = [{ key: { n: 1 }, name: 'n', unique: true }];
    await shop.command({ createIndexes: 'a', indexes });
  });

  it('each in each state: one is taken, of ten clients by one alone; the others change nothing', async () => {
    await using syncer = await pair.syncer({ options: { copyWorkers: 1 } });
    await using obstacles = new AsyncDisposableStack();
    let held: Obstacle | undefined;
    const moments = (reversible ? life : lifeUntilCommitted).entries();
    for (const [index, { state, info, errors = {}, next, hold, isReleasing }] of moments) {
      await syncer.waitFor(
        (progress) =>
          progress.state === state &&
          progress.info === info &&
          (next !== 'commit' || progress.canCommit),
      );
      for (const command of commands) {
        if (taken[state]?.includes(command) === true && !errors[command]) continue;
        const { status, body } = await syncer.post(command, bodyOf(command));
        const where = `${command} in ${state}, moment ${index}`;
        assert.equal(status, 409, where);
        assert.equal(body['error'], errors[command] ?? 'InvalidStateTransition', where);
        assert.equal((await syncer.progress()).state, state, where);
      }
      if (isReleasing) await held?.[Symbol.asyncDispose]();
      if (next === undefined) continue;
      if (hold) {
        held = obstacles.use(
          hold === 'copy'
            ? await holdCommands(pair.destination, 'insert', 'shop.a')
            : await holdCommands(pair.source, 'getMore'),
        );
        if (hold === 'changes') await held.reached(1);
      }
      assert.equal(
        await sendTogether(
          syncer,
          Array.from({ length: 10 }, () => next),
          bodyOf(next),
        ),
        next,
      );
    }
    await pair.assertEqual();
  });

  it('commit, raced by pause: every write acknowledged before is there, in either direction', async () => {
    await using syncer = await pair.syncer();
    await syncer.start(bodyOf('start'));
    const won: string[] = [];
    const rounds = [
      [0, pair.source, pair.destination],
      [1, pair.destination, pair.source],
      [2, pair.source, pair.destination],
      [3, pair.destination, pair.source],
    ] as const;
    const last = reversible ? 3 : 0;
    for (const [round, from, to] of rounds.slice(0, last + 1)) {
      await syncer.waitFor(({ canCommit }) => canCommit);
      const writers = await Promise.all([0, 1, 2].map(async (n) => await writer(from, round, n)));
      await sleep(50, never);
      const racers = round % 2 === 0 ? ['commit'] : ['commit', 'pause', 'pause', 'commit'];
      const sent = Array.from({ length: 10 }, (_, n) => racers[n % racers.length] ?? 'commit');
      let winner = await sendTogether(syncer, sent as Command[]);
      won.push(winner);
      if (winner === 'pause') {
        assert.equal((await syncer.progress()).state, 'PAUSED');
        assert.equal(await sendTogether(syncer, ['resume']), 'resume');
        await syncer.waitFor(({ canCommit }) => canCommit);
        winner = await sendTogether(syncer, ['commit', 'commit']);
      }
      assert.equal(winner, 'commit');
      const acknowledged = (
        await Promise.all(writers.map(async ({ blocked }) => await blocked))
      ).flat();
      await syncer.waitFor(({ state }) => state === 'COMMITTED');
      const ids = await to.client.db('shop').collection<{ _id: string }>('written').distinct('_id');
      const there = new Set(ids);
      assert.ok(acknowledged.length > 0);
      assert.deepEqual(
        acknowledged.filter((id) => !there.has(id)),
        [],
      );
      await pair.assertEqual();
      if (round < last) assert.equal(await sendTogether(syncer, ['reverse']), 'reverse');
    }
    assert.ok(won.includes('commit'));
  });

  it('whose client goes away: carried out when it was sent whole, else not; a commit as long as somebody waits', async () => {
    await using syncer = await pair.syncing();
    await sendAndGoAway(syncer, 'pause', '{');
    await sendAndGoAway(syncer, 'commit', '');
    // Commands come one after the other: the answer to this one comes after whatever those before it did.
    assert.equal((await syncer.post('resume', {})).status, 409);
    assert.equal((await syncer.progress()).state, 'RUNNING');
    await sendAndGoAway(syncer, 'pause', '{}');
    await syncer.waitFor(({ state }) => state === 'PAUSED');
    await sendAndGoAway(syncer, 'resume', '{}');
    await syncer.waitFor(({ canCommit }) => canCommit);
    await sendAndGoAway(syncer, 'commit', '{}');
    // It may have been sent to the store while the client was there still: then it is carried out.
    const { state } = await syncer.waitFor(({ commitUnderWay }) => commitUnderWay === false);
    if (state === 'RUNNING') {
      await syncer.waitFor(({ canCommit }) => canCommit);
      await syncer.commit();
    }
    await syncer.waitFor((progress) => progress.state === 'COMMITTED');
    await pair.assertEqual();
  });

  it('and a syncer that is killed: the state is the one before or after, and after where it was answered', async () => {
    await using syncer = await pair.syncer();
    await syncer.start(bodyOf('start'));
    await syncer.waitFor(({ canCommit }) => canCommit);
    const after = { pause: 'PAUSED', resume: 'RUNNING', commit: 'COMMITTED', reverse: 'RUNNING' };
    const before = { pause: 'RUNNING', resume: 'PAUSED', commit: 'RUNNING', reverse: 'COMMITTED' };
    const sent = ['pause', 'resume', 'pause', 'resume', 'commit', 'reverse'] as const;
    for (const [round, command] of sent.slice(0, reversible ? 6 : 5).entries()) {
      if (before[command] === 'RUNNING') await syncer.waitFor(({ canCommit }) => canCommit);
      const answer = syncer.post(command, {}).catch(() => undefined);
      await sleep(round * 3, never);
      await syncer.kill();
      const isAnswered = (await answer)?.status === 200;
      await syncer.restart();
      const { state } = await syncer.waitFor((progress) => progress.state !== 'COMMITTING');
      const possible = isAnswered ? [after[command]] : [before[command], after[command]];
      assert.ok(possible.includes(state), `${command}: ${state}`);
      if (state !== after[command]) {
        if (command === 'commit') await syncer.waitFor(({ canCommit }) => canCommit);
        assert.equal(await sendTogether(syncer, [command]), command);
        await syncer.waitFor((progress) => progress.state === after[command]);
      }
    }
    if (reversible) await syncer.waitFor(({ canCommit }) => canCommit);
    await pair.assertEqual({ exclude: ['shop.a'] });
  });
});

/** Sends commands at once: exactly one is taken, which is given back, and the others are refused by the state. */
async function sendTogether(
  syncer: SyncerProcess,
  sent: readonly Command[],
  body: object = {},
): Promise<Command> {
  const answers = await Promise.all(
    sent.map(async (command) => ({ command, ...(await syncer.post(command, body)) })),
  );
  const successes = answers.filter(({ status }) => status === 200);
  assert.equal(successes.length, 1, JSON.stringify(answers));
  for (const { status, body } of answers.filter((one) => one.status !== 200)) {
    assert.equal(status, 409, JSON.stringify(body));
    assert.equal(body['error'], 'InvalidStateTransition');
  }
  const [{ command } = { command: 'start' as const }] = successes;
  return command;
}

/** A user who inserts until he is blocked; gives what was acknowledged to him. */
async function writer(
  { set }: Side,
  round: number,
  number: number,
): Promise<{ readonly blocked: Promise<string[]> }> {
  const client = new MongoClient(set.uri('app', { w: number === 0 ? '1' : 'majority' }));
  const written = client.db('shop').collection<{ _id: string }>('written');
  const acknowledged: string[] = [];
  const insert = async (): Promise<void> => {
    const _id = `${round}-${number}-${acknowledged.length}`;
    await written.insertOne({ _id });
    acknowledged.push(_id);
  };
  await insert();
  const run = async (): Promise<string[]> => {
    const deadline = AbortSignal.timeout(60_000);
    try {
      while (!deadline.aborted) await insert();
    } catch {
      return acknowledged;
    } finally {
      await client.close();
    }
    throw new Error('the writer was never blocked');
  };
  return { blocked: run() };
}

/** Sends a request with a body of which this is the beginning, or all, and closes the connection at once. */
async function sendAndGoAway(syncer: SyncerProcess, command: Command, body: string): Promise<void> {
  const url = new URL(syncer.url);
  const socket = connect(Number(url.port), url.hostname);
  const head = `POST /api/v1/${command} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Length: 2\r\n\r\n`;
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.write(`${head}${body}`, () => {
      resolve();
    });
  });
  socket.destroy();
}
