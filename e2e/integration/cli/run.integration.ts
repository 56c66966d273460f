import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { assertProven } from '../../ground/assert-proven.ts';
import { CliProcess, type CliOptions } from '../../ground/cli-process.ts';
import { documentedCommands as commandsBelow } from '../../ground/documented-shell.ts';
import { typeCommit } from '../../ground/type-commit.ts';
import { until } from '../../ground/until.ts';
import { namespacesOf, useClusterPair } from '../syncer/cluster-pair.ts';
import { skipUnlessReversible } from '../syncer/skip-reversal.ts';
import { syncerConnections } from './syncer-connections.ts';

const connections = ['run', '--source-file', '{source}', '--destination-file', '{destination}'];

const blocking = '--enable-user-write-blocking';

/** The commands that the README shows, as words. */
async function documentedCommands(): Promise<readonly (readonly string[])[]> {
  const readme = await readFile(new URL('../../../README.md', import.meta.url), 'utf8');
  return [...readme.matchAll(/^npx clustersync (run .*)$/gm)].map(([, words = '']) =>
    words.replace('old.txt', '{source}').replace('new.txt', '{destination}').split(' '),
  );
}

interface StoredSync {
  readonly _id: string;
  readonly state: string;
  readonly paused: readonly string[];
}

interface Order {
  readonly _id: number;
  readonly text: string;
}

describe('clustersync run', () => {
  const pair = useClusterPair();

  function files(): Record<'source' | 'destination', string> {
    return {
      source: pair.source.set.uri('syncer'),
      destination: pair.destination.set.uri('syncer'),
    };
  }

  async function run(args: readonly string[] = [], options: CliOptions = {}): Promise<CliProcess> {
    return await CliProcess.start([...connections, ...args], {
      ...options,
      files: { ...files(), ...options.files },
    });
  }

  /** Documents on the source, enough for a copy of several batches. */
  async function load(): Promise<void> {
    const shop = pair.source.client.db('shop');
    const orders = Array.from({ length: 3000 }, (_, _id) => ({ _id, text: 'x'.repeat(2000) }));
    await shop.collection<Order>('orders').insertMany(orders);
    await shop.collection('items').insertOne({ name: 'nail' });
    await shop.collection('items').createIndex({ name: 1 }, { unique: true }, {});
    await shop.createCollection('cheap', { viewOn: 'items', pipeline: [] });
  }

  /** Writes on the source for as long as it is not disposed of. */
  function writing(): AsyncDisposable {
    const orders = pair.source.client.db('shop').collection<Order>('orders');
    const over = new AbortController();
    const written = (async () => {
      for (let _id = 100_000; !over.signal.aborted; _id++)
        await orders.insertOne({ _id, text: 'new' });
    })();
    return {
      async [Symbol.asyncDispose]() {
        over.abort();
        await written;
      },
    };
  }

  /** The state of the sync as it is stored. */
  async function stored(): Promise<StoredSync | null> {
    const internal = pair.destination.client.db('clustersync_internal');
    return await internal.collection<StoredSync>('sync').findOne({ _id: 'sync' });
  }

  beforeEach(async () => {
    await pair.reset();
    await load();
  });

  it('tries out without changing anything: what would be moved, and how large it is', async () => {
    const [documented = []] = await documentedCommands();
    assert.deepEqual(documented, [...connections, blocking, '--dry-run']);
    await using cli = await run([blocking, '--dry-run', '--output', 'json']);
    assert.equal((await cli.end()).exitCode, 0, await cli.errors());
    const found = JSON.parse(await cli.output()) as Record<string, unknown>;
    assert.equal(found['canStart'], true);
    assert.equal(found['documents'], 3001);
    assert.equal(found['indexes'], 3);
    assert.deepEqual(found['views'], ['shop.cheap']);
    const [largest = {}] = found['collections'] as Record<string, unknown>[];
    assert.equal(largest['namespace'], 'shop.orders');
    assert.ok(Number(largest['bytes']) > 6_000_000);
    assert.equal(await stored(), null);
    assert.deepEqual(await namespacesOf(pair.destination), []);
  });

  it('continues after it was killed, commits by itself, and proves that both sides are equal', async () => {
    const args = ['--commit-when-caught-up', '--output', 'json', '--log-file', '{log}'];
    {
      await using writer = writing();
      await using first = await run(args);
      await until('the sync is recorded', async () => (await stored())?.state === 'RUNNING');
      await first.kill('SIGKILL');
      await until(
        'its syncer ends with it',
        async () => (await syncerConnections(pair.source.client)) === 0,
      );
      await using second = await run(args);
      await second.untilSays(/continuing to sync/);
      // Applications stop writing before the commit, which comes by itself.
      await writer[Symbol.asyncDispose]();
      assert.equal((await second.end()).exitCode, 0, await second.errors());
      const summary = JSON.parse(await second.output()) as Record<string, unknown>;
      assert.equal(summary['state'], 'COMMITTED');
      assert.equal(summary['verdict'], 'equal');
      assert.equal(summary['mismatchCount'], 0);
      assert.ok(Number(summary['documentsCompared']) >= 3001);
      const counted = summary['documentsCounted'];
      await assertProven(
        { documentsCounted: counted },
        pair.source.set.uri('admin'),
        pair.destination.set.uri('admin'),
      );
      const errors = await second.errors();
      assert.doesNotMatch(errors, /\u001b/, 'no terminal, no escape sequences');
      assert.match(errors, /changes: lag \d+ s/);
    }
    await pair.assertEqual();
    await using again = await run([]);
    assert.equal((await again.end()).exitCode, 0);
    assert.match(await again.output(), /^Committed and verified: both sides are equal\.\n/);
    await using dry = await run(['--dry-run']);
    assert.equal((await dry.end()).exitCode, 0);
    assert.match(await dry.output(), /^This migration is committed\./);
  });

  it('gives its programs what was said about their work, under their own names', async () => {
    const work = ['--copy-workers', '3', '--apply-workers', '5'];
    work.push('--verifier-max-bytes-per-second', '90000000');
    work.push('--verifier-read-preference', 'nearest');
    const args = ['--commit-when-caught-up', '--log-file', '{log}', ...work];
    await using cli = await run(args);
    assert.equal((await cli.end()).exitCode, 0, await cli.errors());
    const lines = (await cli.log()).trim().split('\n');
    const started = lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === 'options');
    const [syncer, verifier] = started;
    const { copyWorkers, applyWorkers } = syncer ?? {};
    assert.deepEqual([started.length, copyWorkers, applyWorkers], [2, 3, 5]);
    const { maxBytesPerSecond, readPreference } = verifier ?? {};
    assert.deepEqual([maxBytesPerSecond, readPreference], [90_000_000, 'nearest']);
  });

  it('in a terminal shows how far it is, pauses at Ctrl-C, and asks before the commit', async () => {
    const [, documented = []] = await documentedCommands();
    assert.deepEqual(documented, [...connections, blocking]);
    {
      await using cli = await run([blocking], { hasTerminal: true });
      await cli.untilSays(/copy.*changes/s);
      cli.type('\u0003');
      assert.equal((await cli.end()).exitCode, 130, await cli.output());
      assert.match(await cli.output(), /paused; run the same command again to continue/);
    }
    assert.deepEqual((await stored())?.paused, ['syncer']);
    await using cli = await run([blocking], { hasTerminal: true });
    await cli.untilSays(/which is PAUSED/);
    // Nobody has been asked yet.
    cli.type('commit\r');
    await cli.untilSays(/Type commit and press Enter/);
    cli.type('yes\r');
    await cli.untilSays(/that was not commit: nothing done/);
    assert.doesNotMatch(await cli.output(), /not yet, nothing done/);
    assert.equal((await stored())?.state, 'RUNNING');
    await typeCommit(cli);
    assert.equal((await cli.end()).exitCode, 0, await cli.output());
    const shown = await cli.output();
    assert.match(shown, /█/);
    assert.match(shown, /\u001b\[32m/);
    assert.match(shown, /Committed and verified: both sides are equal\./);
    await pair.assertEqual();
  });

  it('tells by its exit code that something differs after the commit', async () => {
    await using cli = await run(['--output', 'json'], { hasTerminal: true });
    await cli.untilSays(/Type commit and press Enter/s);
    const copied = pair.destination.client.db('shop').collection<Order>('orders');
    await copied.updateOne({ _id: 7 }, { $set: { text: 'changed' } });
    cli.type('commit\r');
    assert.equal((await cli.end()).exitCode, 1, await cli.output());
    assert.match(await cli.output(), /"verdict": "different"/);
    assert.match(await cli.output(), /shop\.orders differentDocument _id .* at text/);
  });

  it('without a terminal and without a word about the commit pauses when it has caught up', async () => {
    await using cli = await run(['--no-verify'], { env: { NO_COLOR: '1' } });
    // A syncer that ends by itself is started again.
    await cli.untilSays(/inspecting both deployments/);
    let syncer = 0;
    await until('the syncer is started', async () => {
      const children = await readFile(`/proc/${cli.pid}/task/${cli.pid}/children`, 'utf8');
      syncer = Number(children.split(' ')[0]);
      return syncer > 0;
    });
    assert.doesNotMatch(await readFile(`/proc/${syncer}/cmdline`, 'utf8'), /mongodb:/);
    process.kill(syncer, 'SIGKILL');
    await cli.untilSays(/the syncer has exited with SIGKILL; restarting it/);
    assert.equal((await cli.end()).exitCode, 3, await cli.errors());
    assert.match(
      await cli.errors(),
      /the same command with --commit-when-caught-up to continue and commit/,
    );
    assert.deepEqual((await stored())?.paused, ['syncer']);

    // Other options than it was begun with are refused: it says what differs, and which ways out there are.
    const difference =
      /the sync was started with different options: includeNamespaces was not given, and is \[\{"database":"shop"\}\] here \(DifferentSync\)\n.*Use the options that the sync was started with\. .*explicitly/;
    for (const more of [[], ['--commit-when-caught-up'], ['--dry-run']]) {
      await using other = await run(['--include-namespaces', 'shop', ...more]);
      assert.equal((await other.end()).exitCode, 2);
      assert.match(`${await other.output()}${await other.errors()}`, difference);
      assert.deepEqual((await stored())?.paused, ['syncer']);
    }

    // A change on the destination in the meantime is found: it is not committed.
    const copied = pair.destination.client.db('shop').collection<Order>('orders');
    await copied.updateOne({ _id: 7 }, { $set: { text: 'changed' } });
    await using refused = await run(['--commit-when-caught-up', '--max-lag-seconds', '5']);
    assert.equal((await refused.end()).exitCode, 4, await refused.errors());
    const reasons = await refused.errors();
    assert.match(reasons, /not committed, and paused: .* differences that remain/);
    assert.equal(await refused.output(), '');
    const left = await stored();
    assert.deepEqual([left?.state, left?.paused], ['RUNNING', ['syncer']]);

    await using last = await run(['--commit-when-caught-up', '--no-verify']);
    assert.equal((await last.end()).exitCode, 0, await last.errors());
    assert.match(await last.output(), /^Committed\. Nothing was compared\.\n/);
  });

  it('ends so that the way back is open, and says how it is taken', async function () {
    await skipUnlessReversible(this);
    await using cli = await run([blocking, '--reversible', '--commit-when-caught-up']);
    assert.equal((await cli.end()).exitCode, 0, await cli.errors());
    const summary = await cli.output();
    const later = pair.destination.client.db('shop').collection<Order>('orders');
    await later.insertOne({ _id: 200_000, text: 'written after the commit' });

    // The summary and the page say the same.
    const page = await readFile(new URL('../../../docs/command-line.md', import.meta.url), 'utf8');
    const [, , syncerCommand, ...commands] = commandsBelow(page, 'clustersync run');
    assert.ok(syncerCommand?.isBackground);
    for (const flag of ['clustersync syncer --cluster0File', '--cluster1File']) {
      assert.ok(syncerCommand.command.includes(flag) && summary.includes(flag), flag);
    }
    await using syncer = await pair.syncer();
    for (const { command } of commands) {
      const [, , ...words] = command.replace(/ +#.*/, '').split(' ');
      await using told = await CliProcess.start([...words, '--url', syncer.url]);
      assert.equal((await told.end()).exitCode, 0, await told.errors());
    }
    assert.ok(summary.includes(commands[0]?.command.replace(/^npx | +#.*/g, '') ?? 'nothing'));
    const brought = pair.source.client.db('shop').collection<Order>('orders');
    assert.equal((await brought.findOne({ _id: 200_000 }))?.text, 'written after the commit');
    await pair.assertEqual();
  });
});
