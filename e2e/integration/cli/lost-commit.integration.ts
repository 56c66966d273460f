import assert from 'node:assert/strict';
import { cannotBeUndone, mayStillCome } from '../../../cli/api/commit-outcome.ts';
import {
  committed,
  committing,
  PlayedSyncer,
  refused,
  running,
  taken,
  underWay,
  type Word,
} from '../../../cli/api/testing/played-syncer.ts';
import { CliProcess } from '../../ground/cli-process.ts';
import { until } from '../../ground/until.ts';

/** A command to played syncers. */
async function command(all: readonly PlayedSyncer[], args: readonly string[]): Promise<CliProcess> {
  const addresses = await Promise.all(all.map(async (one) => await one.address()));
  const urls = addresses.map((address) => address().url);
  return await CliProcess.start([...args, '--url', urls.join(',')]);
}

/** What it has written to standard error, in one line. */
async function saidBy(cli: CliProcess): Promise<string> {
  return (await cli.errors()).replaceAll('\n', ' ');
}

describe('clustersync commit, of a syncer that does not answer as usual', () => {
  const stopped: Word = { error: 'UniqueIndexViolation', errorDescription: 'twice' };
  const cases: readonly (readonly [string, readonly Word[], object | 'closes', string, string])[] =
    [
      ['is lost', [underWay], 'closes', 'CommitUnknown', mayStillCome],
      [
        'is lost, and the commit was taken',
        [committing, stopped],
        'closes',
        'UniqueIndexViolation',
        cannotBeUndone,
      ],
      ['comes, and the sync stops', [stopped], taken, 'UniqueIndexViolation', cannotBeUndone],
    ];
  for (const [what, words, answer, name, warning] of cases) {
    for (const wait of [[], ['--wait']]) {
      it(`says what may still happen where the answer ${what} (${wait.join('') || 'no --wait'})`, async () => {
        await using one = new PlayedSyncer(words, [answer]);
        await using cli = await command([one], ['commit', ...wait]);
        assert.equal((await cli.end()).exitCode, 2, await cli.output());
        const said = await saidBy(cli);
        assert.ok(said.includes(`; ${warning} (${name}) `), said);
      });
    }
  }

  it('says nothing of a commit that was refused', async () => {
    await using one = new PlayedSyncer([running], [refused]);
    await using cli = await command([one], ['commit', '--wait']);
    assert.equal((await cli.end()).exitCode, 2);
    assert.match(await saidBy(cli), /^clustersync: not now \(CannotCommitYet\) /);
    assert.doesNotMatch(await saidBy(cli), /do not let applications/);
  });

  for (const wait of [[], ['--wait']]) {
    it(`waits for a syncer that starts again after it has taken the commit (${wait.join('') || 'no --wait'})`, async () => {
      await using one = new PlayedSyncer([committing, committed], [taken]);
      one.onCommand = () => (one.isSilent = true);
      await using cli = await command([one], ['commit', ...wait]);
      await until('it meets the silent syncer', () => one.refusedConnections > 1);
      one.isSilent = false;
      assert.equal((await cli.end()).exitCode, 0, await cli.errors());
      assert.match(await cli.output(), wait.length > 0 ? /COMMITTED/ : /COMMITTING/);
      assert.equal(one.commits, 1);
    });
  }

  it('says, where it is stopped before the answer, that the commit may still come', async () => {
    await using one = new PlayedSyncer([underWay], ['is silent']);
    await using cli = await command([one], ['commit']);
    await until('the commit has come', () => one.commits === 1);
    await cli.kill('SIGINT');
    assert.equal((await cli.end()).exitCode, 130);
    assert.ok((await saidBy(cli)).includes(mayStillCome), await cli.errors());
  });

  it('says, where it is stopped after the answer, that the commit cannot be undone', async () => {
    await using one = new PlayedSyncer([committing], [taken]);
    await using cli = await command([one], ['commit', '--wait']);
    await until('it waits', () => one.told.filter((state) => state === 'COMMITTING').length > 1);
    await cli.kill('SIGINT');
    assert.equal((await cli.end()).exitCode, 130);
    assert.ok((await saidBy(cli)).includes(cannotBeUndone), await cli.errors());
  });
});

describe('commands to instances of which not all are alike', () => {
  const paused: Word = { ...running, state: 'PAUSED' };
  const cases: readonly (readonly [string, string, readonly Word[], RegExp])[] = [
    ['pause', 'one has a commit', [running, committing], /cannot be undone.*send commit/],
    ['pause', 'one has it, and the other is paused', [paused, committing], /cannot be undone/],
    ['pause', 'a commit is under way', [running, underWay], /a commit is under way/],
    ['commit', 'one is paused', [running, paused], /some are PAUSED: resume them/],
    [
      'commit',
      'one has it, and the other is paused',
      [paused, committing],
      /cannot be undone.*resume/,
    ],
  ];
  for (const [name, what, words, expected] of cases) {
    it(`${name} does nothing where ${what}, and says why`, async () => {
      const all = words.map((word) => new PlayedSyncer([word], [taken]));
      try {
        for (const one of all) one.hasBegun = true;
        await using cli = await command(all, [name]);
        assert.equal((await cli.end()).exitCode, 2);
        assert.match(await saidBy(cli), expected);
        assert.deepEqual(
          all.flatMap(({ commands }) => commands),
          [],
        );
      } finally {
        for (const one of all) await one[Symbol.asyncDispose]();
      }
    });
  }
});

describe('clustersync progress --watch', () => {
  for (const output of ['text', 'json']) {
    it(`ends with the commit alone, also where the syncer is silent for a while (as ${output})`, async () => {
      await using one = new PlayedSyncer([running, committing, committing, committed]);
      one.hasBegun = true;
      await using cli = await command([one], ['progress', '--watch', '--output', output]);
      await until('it sees the commit under way', () => one.told.includes('COMMITTING'));
      one.isSilent = true;
      await until('it meets the silent syncer', () => one.refusedConnections > 1);
      one.isSilent = false;
      assert.equal((await cli.end()).exitCode, 0, await cli.errors());
      assert.equal(one.told.at(-1), 'COMMITTED');
    });
  }

  it('does not wait for an address at which nothing answers', async () => {
    await using one = new PlayedSyncer([running]);
    one.isSilent = true;
    await using cli = await command([one], ['progress', '--watch']);
    assert.equal((await cli.end()).exitCode, 2);
    assert.match(await saidBy(cli), /\(ToolUnreachable\)/);
    assert.equal(one.refusedConnections, 1);
  });
});
