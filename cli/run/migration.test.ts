import assert from 'node:assert/strict';
import { once } from 'node:events';
import { SyncError } from '../../service/errors.ts';
import type { Instances } from '../api/instances.ts';
import {
  committed,
  committing,
  instancesOf,
  PlayedSyncer,
  refused,
  running,
  taken,
  underWay,
  unknown,
} from '../api/testing/played-syncer.ts';
import { verificationFrom } from '../api/testing/reported.ts';
import type { VerifierApi } from '../api/verifier-api.ts';
import type { View } from '../render/frame.ts';
import { Migration, type MigrationSettings } from './migration.ts';

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
    await using one = new PlayedSyncer([{ ...running, ...times, totalEventsApplied: 7 }], []);
    // From now on it answers with its words.
    one.hasBegun = true;
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

  async function migrationOf(all: readonly PlayedSyncer[]): Promise<Migration> {
    const instances = await instancesOf(all);
    return new Migration(settingsOf(instances, signal), await instances.ready(signal));
  }

  async function commit(all: readonly PlayedSyncer[]): Promise<string> {
    const migration = await migrationOf(all);
    assert.equal(migration.isCommitSent, false);
    await migration.commit();
    assert.equal(migration.isCommitSent, true);
    return migration.sync.state;
  }

  it('is waited for, by a run, until it is carried out', async () => {
    await using one = new PlayedSyncer([underWay, unknown, committing, committed], []);
    assert.equal(await commit([one]), 'COMMITTED');
    assert.equal(one.commits, 1);
  });

  it('has failed, for a run, only when it is proven that none is under way', async () => {
    await using one = new PlayedSyncer([underWay, unknown, running], []);
    const migration = await migrationOf([one]);
    await assert.rejects(migration.commit(), { name: 'ToolUnreachable' });
    assert.equal(migration.isCommitSent, false);
  });

  it('counts as sent, for a run, where the sync stops before its outcome is known', async () => {
    const stopped = { error: 'UniqueIndexViolation', errorDescription: 'twice' };
    await using one = new PlayedSyncer([underWay, stopped], []);
    const migration = await migrationOf([one]);
    await assert.rejects(migration.commit(), { name: 'UniqueIndexViolation' });
    assert.equal(migration.isCommitSent, true);
  });

  it('is waited for, by a run, while nothing answers', async () => {
    await using one = new PlayedSyncer([committing, committed], []);
    one.onCommand = () => (one.isSilent = true);
    const instances = await instancesOf([one]);
    const settings = settingsOf(instances, signal);
    const show = ({ warning }: View): void => {
      if (warning !== undefined) one.isSilent = false;
    };
    const screen = { ...settings.screen, show };
    const migration = new Migration({ ...settings, screen }, await instances.ready(signal));
    await migration.commit();
    assert.deepEqual([migration.sync.state, one.commits], ['COMMITTED', 1]);
  });

  it('counts as sent, for a run, as soon as its request is on its way', async () => {
    const over = new AbortController();
    await using one = new PlayedSyncer([running], ['is silent']);
    one.onCommand = () => {
      over.abort();
    };
    const instances = await instancesOf([one]);
    const settings = settingsOf(instances, over.signal);
    const migration = new Migration(settings, await instances.ready(over.signal));
    await assert.rejects(migration.commit(), { name: 'AbortError' });
    assert.equal(migration.isCommitSent, true);
  });

  it('is given again, by a run, to an instance that refused it while another has taken it', async () => {
    await using one = new PlayedSyncer([committing, committing, committed], [taken]);
    await using other = new PlayedSyncer([running, running, committed], [refused, taken]);
    assert.equal(await commit([one, other]), 'COMMITTED');
    assert.equal(other.commits, 2);
  });
});

describe('the question whether to commit', () => {
  const { signal } = new AbortController();

  it('is asked again, and says why, where the word comes while no commit is advisable', async () => {
    const ready = { ...running, lagTimeSeconds: 1 };
    const notReady = { ...ready, canCommit: false };
    await using one = new PlayedSyncer([notReady, notReady, notReady, ready], []);
    // From now on it answers with its words.
    one.hasBegun = true;
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
    assert.deepEqual([migration.isCommitSent, one.commits], [false, 0]);
  });

  it('counts the word for the look after it alone, and drops it while syncers are silent', async () => {
    const ready = { ...running, lagTimeSeconds: 1 };
    const behind = { ...ready, lagTimeSeconds: 600 };
    await using one = new PlayedSyncer([ready, behind, ready]);
    one.hasBegun = true;
    const instances = await instancesOf([one]);
    const begun = await instances.ready(signal);
    one.isSilent = true;
    const steps: string[] = [];
    const answers = ['commit', 'commit', 'commit'];
    const screen: MigrationSettings['screen'] = {
      show: () => undefined,
      step: (text) => {
        steps.push(text);
        one.isSilent = false;
      },
      ask: async (_text, until) => {
        const answer = answers.shift();
        if (answer === undefined) await once(until, 'abort');
        return answer ?? '';
      },
    };
    const migration = new Migration({ ...settingsOf(instances, signal), screen }, begun);
    await migration.askFor('commit', 'commit?');
    assert.equal(steps.length, 2);
    assert.match(steps[0] ?? '', /^not yet, nothing done: nothing answers at /);
    assert.equal(steps[1], 'not yet, nothing done: the lag is more than 5 s');
    assert.deepEqual([answers, migration.sync.lagSeconds], [[], 1]);
  });

  it('stays while somebody else pauses the sync, and is over once another has committed it', async () => {
    const paused = { ...running, state: 'PAUSED', canCommit: false };
    await using one = new PlayedSyncer([paused, paused, committing]);
    one.hasBegun = true;
    const instances = await instancesOf([one]);
    const seen: string[] = [];
    const screen: MigrationSettings['screen'] = {
      show: ({ sync }) => seen.push(sync.state),
      step: () => undefined,
      ask: async (_text, until) => {
        await once(until, 'abort');
        throw new Error('no answer');
      },
    };
    const migration = new Migration(
      { ...settingsOf(instances, signal), screen },
      await instances.ready(signal),
    );
    await migration.askFor('commit', 'commit?');
    assert.deepEqual(seen, ['PAUSED', 'COMMITTING']);
  });
});

describe('the verification of a run', () => {
  const { signal } = new AbortController();
  const startedAt = '2026-11-30T10:00:00.000Z';
  const applying = { ...running, startedAt, info: 'change event application', lagTimeSeconds: 1 };

  /** A run with a verifier that reports this, and the attempts that it has started one for. */
  async function verifiedRun(
    one: PlayedSyncer,
    reported: object,
    writesOff: () => Promise<void> = async () => {
      await Promise.reject(new Error('not asked for'));
    },
  ): Promise<{ readonly migration: Migration; readonly attempts: readonly number[] }> {
    one.hasBegun = true;
    const instances = await instancesOf([one]);
    const attempts: number[] = [];
    const verifier = {
      check: async () => {
        await Promise.resolve();
      },
      progress: async () => await Promise.resolve(verificationFrom(reported)),
      writesOff,
    } as unknown as VerifierApi;
    const startVerifier = async (attempt: number): Promise<VerifierApi> => {
      attempts.push(attempt);
      return await Promise.resolve(verifier);
    };
    const settings = {
      ...settingsOf(instances, signal),
      ...{ options: { verify: true, maxLagSeconds: 5 }, programs: { startVerifier } },
    };
    return { migration: new Migration(settings, await instances.ready(signal)), attempts };
  }

  it('is that of this sync: it is named by when the sync was started', async () => {
    await using one = new PlayedSyncer([applying]);
    const { migration, attempts } = await verifiedRun(one, { phase: 'check' });
    await migration.follow(() => migration.verification !== undefined);
    assert.deepEqual(attempts, [Date.parse(startedAt)]);
  });

  it('learns of the end of the writes again, if the verifier starts again meanwhile', async () => {
    await using one = new PlayedSyncer([applying]);
    let calls = 0;
    const equal = { phase: 'idle', verdict: 'equal' };
    const { migration } = await verifiedRun(one, equal, async () => {
      calls += 1;
      if (calls === 1) await Promise.reject(new SyncError('ToolUnreachable', 'it is starting'));
    });
    await migration.untilVerified();
    assert.deepEqual([calls, migration.verification?.verdict], [2, 'equal']);
  });

  it('ends the run if it cannot continue', async () => {
    await using one = new PlayedSyncer([applying]);
    const failed = { phase: 'idle', error: 'the destination is gone' };
    const { migration } = await verifiedRun(one, failed);
    await assert.rejects(
      migration.follow(() => migration.verification !== undefined),
      { name: 'CheckFailed', message: /the destination is gone/ },
    );
  });
});
