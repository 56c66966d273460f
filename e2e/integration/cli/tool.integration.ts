import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { CliProcess } from '../../ground/cli-process.ts';
import { documentedCommands } from '../../ground/documented-shell.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { VerifierProcess } from '../../ground/verifier-process.ts';
import { forward, useClusterPair } from '../syncer/cluster-pair.ts';
import { rollOver } from '../../ground/roll-over.ts';
import { skipUnlessReversible } from '../syncer/skip-reversal.ts';

const apiToken = 'the-token';

/** What a command has written, and its exit code. */
interface Said {
  readonly exitCode: number | null;
  readonly output: string;
  readonly errors: string;
}

describe('the commands to a running tool', () => {
  const pair = useClusterPair({ oplogSizeMB: 1, args: ['--syncdelay', '1'] });
  const toldCommands: string[] = [];
  let syncer: SyncerProcess;

  before(async () => {
    await pair.source.client.db('shop').collection('orders').insertOne({ name: 'one' });
    syncer = await pair.syncer({ options: { apiToken } });
  });

  after(async () => {
    await syncer[Symbol.asyncDispose]();
  });

  async function say(args: readonly string[], options: { terminal?: boolean } = {}): Promise<Said> {
    toldCommands.push(args.filter((word) => !word.startsWith('http')).join(' '));
    await using cli = await CliProcess.start(args, {
      files: { token: apiToken },
      hasTerminal: options.terminal === true,
    });
    const { exitCode } = await cli.end();
    return { exitCode, output: await cli.output(), errors: await cli.errors() };
  }

  async function tell(command: string, ...args: readonly string[]): Promise<Said> {
    return await say([command, '--url', syncer.url, '--api-token-file', '{token}', ...args]);
  }

  it('lead a sync from its start to its end, and back', async function () {
    await skipUnlessReversible(this);
    const idle = await tell('status');
    assert.equal(idle.output, 'state  IDLE: no sync has been started\n', idle.errors);
    const early = await tell('commit');
    assert.equal(early.exitCode, 2);
    assert.equal(
      early.errors,
      'clustersync: commit is allowed in RUNNING; the state is IDLE (InvalidStateTransition)\nCheck `state` in progress: the description lists the states that allow the command.\n',
    );

    const token = { Authorization: `Bearer ${apiToken}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ ...forward, enableUserWriteBlocking: true, reversible: true });
    const start = await fetch(`${syncer.url}/api/v1/start`, {
      method: 'POST',
      headers: token,
      body,
    });
    assert.equal(start.status, 200);
    const untilCanCommit = async (): Promise<void> => {
      await until('it can be committed', async () => {
        const { output, errors } = await tell('status', '--output', 'json');
        assert.equal(errors, '');
        const status = JSON.parse(output) as { canCommit: boolean; instances: object[] };
        assert.equal(status.instances.length, 1);
        return status.canCommit;
      });
    };
    await untilCanCommit();
    const limited = await tell('limits', '--limit-copy-bytes-per-second', '20000000');
    assert.match(limited.output, /^limits +not held back now; 0 % of the last minute/m);
    const unclear = await tell('limits');
    assert.equal(unclear.exitCode, 2);
    assert.match(unclear.errors, /--none: give limits/);
    assert.doesNotMatch((await tell('limits', '--none')).output, /^limits/m);
    assert.match((await tell('pause')).output, /^state +PAUSED: change event application\n/);
    assert.match((await tell('progress', '--output', 'yaml')).output, /^state: PAUSED\n/);
    assert.match((await tell('resume')).output, /^state +RUNNING/);
    await untilCanCommit();
    const committed = await tell('commit', '--wait');
    assert.match(committed.output, /^state +COMMITTED: commit completed\n/, committed.errors);
    const watched = await tell('progress', '--watch');
    assert.match(watched.errors, /changes: committed {2}lag 0 s/);
    const reversed = await tell('reverse', '--wait', '--output', 'json');
    assert.equal(reversed.exitCode, 0, reversed.errors);
    const { source } = JSON.parse(reversed.output) as { source: string };
    assert.match(source, /^cluster1: /);

    const used = await tell('reset', '--destination', 'Clean', '--wait');
    assert.equal(used.exitCode, 2);
    assert.match(used.errors, /in use since a commit of this sync/);
    const reset = await tell('reset', '--wait', '--output', 'json');
    assert.equal(reset.exitCode, 0, reset.errors);
    assert.equal((JSON.parse(reset.output) as { state: string }).state, 'IDLE');
  });

  it('repair a sync that has stopped, of which nothing else is reported, and one that runs', async () => {
    const token = { Authorization: `Bearer ${apiToken}`, 'Content-Type': 'application/json' };
    const post = async (command: string, body: object): Promise<void> => {
      const request = { method: 'POST', headers: token, body: JSON.stringify(body) };
      assert.equal((await fetch(`${syncer.url}/api/v1/${command}`, request)).status, 200);
    };
    const early = await tell('repair');
    assert.equal(early.exitCode, 2);
    assert.match(
      early.errors,
      /^clustersync: repair is allowed in RUNNING; the state is IDLE \(InvalidStateTransition\)\n/,
    );
    await pair.reset();
    const items = pair.source.client.db('shop').collection<{ n: number }>('items');
    await items.insertMany(Array.from({ length: 10 }, (_, n) => ({ n })));
    await post('start', forward);
    await until('it can be committed', async () => {
      return (await tell('status')).output.includes('can commit   yes');
    });
    await post('pause', {});
    await items.updateOne({ n: 3 }, { $set: { n: 33 } });
    await items.deleteOne({ n: 4 });
    await rollOver(pair.source);
    await post('resume', {});
    let stopped = await tell('status');
    await until('it has stopped', async () => {
      stopped = await tell('status');
      return stopped.exitCode === 2;
    });
    assert.match(stopped.errors, /^clustersync: .*\n.* repair the sync, /);

    const repaired = await tell('repair', '--wait', '--output', 'json');
    assert.equal(repaired.exitCode, 0, repaired.errors);
    const { canCommit, reconciliation, instances } = JSON.parse(repaired.output) as {
      canCommit: boolean;
      reconciliation: { comparedDocuments: number; changedDocuments: number };
      instances: readonly { repairs: number }[];
    };
    assert.equal(canCommit, true);
    assert.deepEqual(
      instances.map(({ repairs }) => repairs),
      [1],
    );
    // Those of shop.items: what has filled the oplog was not on the destination, and is copied.
    assert.deepEqual(reconciliation, { comparedDocuments: 9, changedDocuments: 2 });
    assert.match(repaired.errors, /^\[ .*changes: lag/m);
    const again = await tell('repair');
    assert.equal(again.exitCode, 0, again.errors);
    assert.match(again.output, /^state +RUNNING/);
    const { progress } = (await (
      await fetch(`${syncer.url}/api/v1/progress`, { headers: token })
    ).json()) as { progress: { repairs: number } };
    assert.equal(progress.repairs, 2);
    await tell('repair', '--wait');
    assert.match((await tell('commit', '--wait')).output, /^state +COMMITTED/);
    await pair.assertEqual();
    assert.equal((await tell('reset', '--wait')).exitCode, 0);
  });

  it('say what is wrong with the way to the tool', async () => {
    const refused = await say(['status', '--url', syncer.url]);
    assert.equal(refused.exitCode, 2);
    assert.match(
      refused.errors,
      /^clustersync: the API token is missing or wrong \(Unauthorized\)\n/,
    );
    const nobody = await say(['status', '--url', 'http://127.0.0.1:1']);
    assert.equal(nobody.exitCode, 2);
    assert.match(
      nobody.errors,
      /^clustersync: nothing answers at http:\/\/127\.0\.0\.1:1 \(ToolUnreachable\)\n/,
    );
    const shown = await say(['status', '--api-token', apiToken, '--url', syncer.url]);
    assert.match(shown.errors, /^warning: other users of this machine can see --api-token /);
    assert.equal(shown.exitCode, 0);
    const unknown = await say(['status', '--no-such-flag']);
    assert.equal(unknown.exitCode, 2);
  });

  it('tell what a verifier has found', async () => {
    // The destination is the source now, and has nothing that the other has not.
    await using verifier = await VerifierProcess.start({
      uris: {
        srcURI: pair.source.set.uri('syncer'),
        destURI: pair.destination.set.uri('syncer'),
      },
    });
    const before = await say(['report', '--url', verifier.url]);
    assert.equal(before.exitCode, 3, before.errors);
    assert.match(before.output, /^verdict +none yet\n/);
    await verifier.post('check');
    await verifier.post('writesOff');
    await verifier.untilComplete();
    const found = await say(['report', '--url', verifier.url]);
    assert.match(found.output, /^verdict +(equal|different)\n/, found.errors);
    assert.equal(found.exitCode, /^verdict +equal/.test(found.output) ? 0 : 1);
    const { output } = await say(['report', '--url', verifier.url, '--output', 'json']);
    const report = JSON.parse(output) as { mismatches: unknown[]; mismatchCount: number };
    assert.equal(report.mismatches.length, report.mismatchCount);
  });

  it('are those of docs/command-line.md', async function () {
    // The tests above have sent all of them, where a sync can be reversed.
    await skipUnlessReversible(this);
    const page = await readFile(new URL('../../../docs/command-line.md', import.meta.url), 'utf8');
    for (const { command } of documentedCommands(
      page,
      'Commands to running syncers and verifiers',
    )) {
      const words = command.replace(/^npx clustersync /, '').split(' ');
      const told = toldCommands.filter((line) => words.every((word) => line.includes(word)));
      assert.ok(told.length > 0, command);
    }
  });
});
