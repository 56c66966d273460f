import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import type { SyncReport } from '../../../dashboard/api/messages.ts';
import { bytesText, countText } from '../../../service/quantities.ts';
import { TestBrowser } from '../../ground/browser/browser.ts';
import { CliProcess, type CliOptions } from '../../ground/cli-process.ts';
import { typeCommit } from '../../ground/type-commit.ts';
import { useClusterPair } from '../syncer/cluster-pair.ts';

const command = ['run', '--source-file', '{source}', '--destination-file', '{destination}'];

/** Where the command says that the page is. */
function addressIn(said: string): string {
  const [, address = ''] = /progress page: (http:\S+)/.exec(said) ?? [];
  return address;
}

describe('the page of clustersync run --web, with real deployments and in Chromium', () => {
  const pair = useClusterPair();
  let browser: TestBrowser;

  before(async () => {
    browser = await TestBrowser.start();
  });

  after(async () => {
    await browser[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    await pair.reset();
    const shop = pair.source.client.db('shop');
    const orders = Array.from({ length: 500 }, (_, n) => ({ n, text: 'x'.repeat(2000) }));
    await shop.collection('orders').insertMany(orders);
    await shop.collection('items').insertOne({ name: 'nail' });
  });

  async function run(args: readonly string[], options: CliOptions = {}): Promise<CliProcess> {
    const files = {
      source: pair.source.set.uri('syncer'),
      destination: pair.destination.set.uri('syncer'),
    };
    return await CliProcess.start([...command, ...args], { ...options, files });
  }

  it('shows what the API says, follows it to the verdict, and keeps that when the command ends', async () => {
    await using cli = await run(['--web', '0'], { hasTerminal: true });
    await cli.untilSays(/progress page: http:\S+/);
    const address = addressIn(await cli.output());
    await using watched = await browser.open();
    const { page } = watched;
    await page.goto(address);
    await page.locator('h1', { hasText: 'migration' }).waitFor();
    await page.locator('.title .pill', { hasText: 'Ready to commit' }).waitFor();
    await page.getByText('2 of 2 copied').waitFor();
    await cli.untilSays(/Type commit and press Enter/);
    await page.getByText('No differences so far.').waitFor();

    const chart = /^Lag and oplog in the last .+: lag \d.+; oplog lasts \d.+ now, at least \d/;
    await page.getByRole('img', { name: chart }).waitFor();

    const answer = await fetch(`${address}api/v1/syncs/run/migration`);
    const { row, instances, collections, events } = (await answer.json()) as SyncReport;
    const { copiedBytes } = row;
    assert.ok(copiedBytes !== null && copiedBytes >= 1_000_000);
    const figure = page.locator('.figures').locator(`[title="${countText(copiedBytes)} bytes"]`);
    assert.equal(await figure.innerText(), bytesText(copiedBytes));
    const shown = await page.evaluate<string[][]>(
      `[...document.querySelectorAll('.rows tbody tr')]
        .map((row) => [...row.children].map((cell) => cell.innerText))`,
    );
    assert.deepEqual(
      shown.map(([id, , copied]) => [id, copied]),
      instances.map((one) => [`${one.id} coordinator`, bytesText(one.copiedBytes ?? 0)]),
    );
    assert.equal(instances.length, 1);
    assert.equal(await page.locator('.collections > li').count(), collections?.total);
    assert.equal(await page.getByText(row.source, { exact: true }).count(), 1);
    assert.equal(await page.getByText('the command asks in its terminal').count(), 1);

    // What only Kubernetes has is not there, and there is no list to go back to.
    assert.equal(events, null);
    for (const text of ['Events', 'Conditions', 'Pod', 'All syncs', 'kubectl']) {
      assert.equal(await page.getByText(text, { exact: text !== 'kubectl' }).count(), 0, text);
    }
    await page.keyboard.press('Escape');
    assert.equal(new URL(page.url()).hash, '#/syncs/run/migration');
    assert.deepEqual(await watched.inaccessible(), []);
    assert.equal(watched.complaints.join('\n'), '');
    await watched.keepPicture('run-ready', { isWhole: true });

    await typeCommit(cli);
    assert.equal((await cli.end()).exitCode, 0, await cli.output());
    await page.getByText('the sync is committed, and both sides are equal').waitFor();
    await page.locator('.pill', { hasText: 'Equal' }).waitFor();
    await page.getByText('The command has ended').waitFor();
    await watched.keepPicture('run-ended', { isWhole: true });
    // The browser itself says that nobody answers any more.
    assert.deepEqual(
      watched.complaints.filter((complaint) => !complaint.includes('net::ERR_')),
      [],
    );
    const hosts = new Set(watched.requests.map(({ host }) => host));
    assert.deepEqual([...hosts], [new URL(address).host]);
    await pair.assertEqual();
  });

  it('says that the command was ended, and that the sync is paused', async () => {
    await using cli = await run(['--web', '0', '--no-verify'], { hasTerminal: true });
    await cli.untilSays(/progress page: http:\S+/);
    await using watched = await browser.open();
    const { page } = watched;
    await page.goto(addressIn(await cli.output()));
    await page.locator('.title .pill', { hasText: 'Ready to commit' }).waitFor();
    await page.getByText('unless the command was given --no-verify').waitFor();
    cli.type('\u0003');
    assert.equal((await cli.end()).exitCode, 130, await cli.output());
    await page.getByText('paused; run the same command again to continue').waitFor();
    await page.locator('.title .pill', { hasText: 'Paused' }).waitFor();
    await page.getByText('The command has ended').waitFor();
  });

  it('is refused before anything begins where its port is taken', async () => {
    await using other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    await using cli = await run(['--web', String(port), '--commit-when-caught-up']);
    assert.equal((await cli.end()).exitCode, 2);
    assert.match(await cli.errors(), /^clustersync: --web: cannot listen on 127\.0\.0\.1:\d+: /m);
    const databases = await pair.destination.client.db('admin').admin().listDatabases();
    assert.ok(databases.databases.every(({ name }) => name !== 'clustersync_internal'));
  });
});
