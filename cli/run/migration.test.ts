import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { requireCommitTaken } from '../api/commit-outcome.ts';
import { Instances } from '../api/instances.ts';
import type { View } from '../render/frame.ts';
import { Migration, type MigrationSettings } from './migration.ts';

/** What progress answers once a commit has come: one after the other; the last one stays. */
type Word = Readonly<Record<string, unknown>>;

const running: Word = { state: 'RUNNING', canCommit: true, commitUnderWay: false };
const underWay: Word = { state: 'RUNNING', canCommit: false, commitUnderWay: true };
const unknown: Word = { state: 'RUNNING', canCommit: false, commitUnderWay: null };
const committing: Word = { state: 'COMMITTING', commitUnderWay: true };
const committed: Word = { state: 'COMMITTED', commitUnderWay: false };

/** A syncer that closes the connection of a commit instead of answering it, or answers with an error. */
class Played implements AsyncDisposable {
  readonly #server: Server;
  readonly #words: Word[];
  readonly #refusals: (object | undefined)[];
  commits = 0;
  /** Whether it answers nothing more. */
  isSilent = false;

  constructor(words: readonly Word[], refusals: readonly (object | undefined)[]) {
    this.#words = [...words];
    this.#refusals = [...refusals];
    this.#server = createServer((request, response) => {
      if (this.isSilent) {
        request.socket.destroy();
        return;
      }
      if (request.method === 'GET') {
        const [word = running] = this.commits === 0 ? [running] : this.#words;
        if (this.commits > 0 && this.#words.length > 1) this.#words.shift();
        response.end(JSON.stringify({ progress: word }));
        return;
      }
      this.commits++;
      const refusal = this.#refusals.shift();
      if (refusal) response.end(JSON.stringify(refusal));
      else request.socket.destroy();
    });
  }

  async address(): Promise<() => { url: string; apiToken: undefined }> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = this.#server.address() as AddressInfo;
    return () => ({ url: `http://127.0.0.1:${port}`, apiToken: undefined });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

const taken = { success: true };
const refused = { success: false, error: 'CannotCommitYet', errorDescription: 'not now' };

async function instancesOf(all: readonly Played[]): Promise<Instances> {
  return new Instances(await Promise.all(all.map(async (one) => await one.address())));
}

/** What a migration needs whose verification and whose screen do not matter. */
function settingsOf(instances: Instances, signal: AbortSignal): MigrationSettings {
  const notAskedFor = async (): Promise<never> => await Promise.reject(new Error('not asked for'));
  return {
    options: { verify: false, maxLagSeconds: 5 },
    programs: { startVerifier: notAskedFor },
    instances,
    screen: { show: () => undefined, step: () => undefined, ask: notAskedFor },
    page: undefined,
    signal,
  };
}

describe('a migration that is followed', () => {
  it('shows no lag and no oplog of syncers that no longer answer', async () => {
    const times = { lagTimeSeconds: 1, estimatedOplogTimeRemainingSeconds: 90 };
    await using one = new Played([{ ...running, ...times, totalEventsApplied: 7 }], []);
    // From now on it answers with its words.
    one.commits = 1;
    const instances = await instancesOf([one]);
    const over = new AbortController();
    const seen: (readonly (number | null)[])[] = [];
    const show = ({ sync, warning }: View): void => {
      seen.push([sync.lagSeconds, sync.oplogSeconds, sync.eventsApplied]);
      one.isSilent = true;
      if (warning !== undefined) over.abort();
    };
    const migration = new Migration(
      { ...settingsOf(instances, over.signal), page: { show } },
      await instances.ready(over.signal),
    );
    await assert.rejects(
      migration.follow(() => false),
      { name: 'AbortError' },
    );
    assert.deepEqual(seen, [
      [1, 90, 7],
      [null, null, 7],
    ]);
  });
});

describe('a commit whose answer is lost', () => {
  const { signal } = new AbortController();

  async function commit(all: readonly Played[]): Promise<string> {
    const instances = await instancesOf(all);
    const migration = new Migration(settingsOf(instances, signal), await instances.ready(signal));
    assert.equal(migration.isCommitSent, false);
    await migration.commit();
    assert.equal(migration.isCommitSent, true);
    return migration.sync.state;
  }

  it('is waited for, by a run, until it is carried out', async () => {
    await using one = new Played([underWay, unknown, committing, committed], []);
    assert.equal(await commit([one]), 'COMMITTED');
    assert.equal(one.commits, 1);
  });

  it('has failed, for a run, only when it is proven that none is under way', async () => {
    await using one = new Played([underWay, unknown, running], []);
    await assert.rejects(commit([one]), { name: 'ToolUnreachable' });
  });

  it('is given again, by a run, to an instance that refused it while another has taken it', async () => {
    await using one = new Played([committing, committing, committed], [taken]);
    await using other = new Played([running, running, committed], [refused, taken]);
    assert.equal(await commit([one, other]), 'COMMITTED');
    assert.equal(other.commits, 2);
  });

  const lost = new Error('nothing answers');
  const cases: readonly (readonly [string, readonly Word[], object | undefined])[] = [
    ['is open while it is under way', [underWay], { name: 'CommitUnknown' }],
    ['is open while that is not known', [unknown], { name: 'CommitUnknown' }],
    ['is open where one of several cannot say', [running, unknown], { name: 'CommitUnknown' }],
    [
      'is open where a tool has a state of its own',
      [{ state: 'INITIALIZING' }],
      { name: 'CommitUnknown' },
    ],
    ['is open where what answers is no progress', [{}], { name: 'CommitUnknown' }],
    ['is half given where one has it', [committing, running], { name: 'CommitUnknown' }],
    ['has failed where none is under way', [running, running], lost],
    ['has been taken where all have it', [committing, committed], undefined],
  ];
  for (const [what, words, expected] of cases) {
    it(`${what}, for the command`, async () => {
      const all = words.map((word) => new Played([word], []));
      try {
        const instances = await instancesOf(all);
        for (const one of all) one.commits++;
        const outcome = requireCommitTaken(instances, lost, signal);
        if (expected === undefined) await outcome;
        else await assert.rejects(outcome, expected);
      } finally {
        for (const one of all) await one[Symbol.asyncDispose]();
      }
    });
  }

  it('is open, for the command, where nothing answers any more', async () => {
    const instances = new Instances([() => ({ url: undefined, apiToken: undefined })]);
    await assert.rejects(requireCommitTaken(instances, lost, signal), {
      name: 'CommitUnknown',
      message: /^nothing answers; the commit was sent and may still be carried out/,
    });
  });
});

describe('the question whether to commit', () => {
  const { signal } = new AbortController();

  it('is asked again, and says why, where the word comes while no commit is advisable', async () => {
    const ready = { ...running, lagTimeSeconds: 1 };
    const notReady = { ...ready, canCommit: false };
    await using one = new Played([notReady, notReady, ready], []);
    // From now on it answers with its words.
    one.commits = 1;
    const instances = await instancesOf([one]);
    const advisable = Promise.withResolvers<undefined>();
    const steps: string[] = [];
    let questions = 0;
    const migration = new Migration(
      {
        ...settingsOf(instances, signal),
        screen: {
          show: ({ commitReadiness }) => {
            if (commitReadiness?.isReady === true) advisable.resolve(undefined);
          },
          step: (text) => steps.push(text),
          ask: async () => {
            if (questions++ > 0) await advisable.promise;
            return 'commit';
          },
        },
      },
      await instances.ready(signal),
    );
    await migration.askFor('commit', 'commit?');
    assert.deepEqual(steps, ['not yet, nothing done: not every instance can commit']);
    assert.equal(questions, 2);
    assert.deepEqual([migration.isCommitSent, one.commits], [false, 1]);
  });
});
