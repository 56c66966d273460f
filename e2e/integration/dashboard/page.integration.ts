import assert from 'node:assert/strict';
import type { SyncReport } from '../../../dashboard/api/messages.ts';
import { packageVersion } from '../../../service/package-version.ts';
import { bytesText, countText } from '../../../service/quantities.ts';
import type { WatchedPage } from '../../ground/browser/browser.ts';
import { MadeUpDashboard, phone } from './made-up-dashboard.ts';
import { busyDetail, differentVerification } from './made-up-details.ts';

const token = 'open sesame';

describe('the page of the dashboard, in Chromium', () => {
  const dashboard = new MadeUpDashboard();

  it('shows 500 syncs, and what changes in one of them', async () => {
    await dashboard.serve(500);
    await using watched = await dashboard.open();
    const { page } = watched;
    assert.equal(await page.locator('#list > li').count(), 500);
    const key = dashboard.keyOf('InitialCopy');
    const line = page.locator(`[data-sync="${key}"]`);
    await page.evaluate(`document.querySelector('[data-sync="${key}"]').dataset.mark = 'same'`);
    dashboard.source.change(key, { percent: 98, lagSeconds: 4_321 });
    await line.getByText('98 %').waitFor();
    await line.getByText('1 h 12 min').waitFor();
    assert.equal(await line.getAttribute('data-mark'), 'same');
    dashboard.source.syncs.delete(key);
    await page.getByText('499 syncs').waitFor();
    assert.equal(await line.count(), 0);
    await page.getByRole('banner').getByText(packageVersion(), { exact: true }).waitFor();
    await watched.keepPicture('overview-500-light');
    dashboard.assertQuiet(watched);
  });

  it('is loaded again, once, when a server of another version answers', async () => {
    await dashboard.serve(3);
    const snapshot = { ...(await dashboard.snapshot()), page: { version: '0.0.1', docsUrl: null } };
    await using watched = await dashboard.browser.open();
    const { page } = watched;
    const stream = '**/api/v1/syncs/stream';
    const former = `event: snapshot\ndata: ${JSON.stringify(snapshot)}\n\n`;
    const answerAsFormer = async (): Promise<void> => {
      const answer = { contentType: 'text/event-stream', body: former };
      await page.route(
        stream,
        async (route) => {
          await route.fulfill(answer);
        },
        { times: 1 },
      );
    };
    await answerAsFormer();
    const loads: string[] = [];
    page.on('load', () => loads.push(page.url()));
    await page.goto(`http://127.0.0.1:${dashboard.server.port}/`);
    await page.getByRole('banner').getByText('0.0.1', { exact: true }).waitFor();
    await page.getByRole('banner').getByText(packageVersion(), { exact: true }).waitFor();
    await page.getByText('3 syncs').waitFor();
    assert.equal(loads.length, 2);
    // Two versions that answer in turn, as during an update, do not make it load again and again.
    await answerAsFormer();
    await page.reload();
    await page.getByRole('banner').getByText('0.0.1', { exact: true }).waitFor();
    await page.getByRole('banner').getByText(packageVersion(), { exact: true }).waitFor();
    assert.equal(loads.length, 3);
  });

  it('finds a sync by keyboard alone, and comes back to it', async () => {
    await dashboard.serve(500);
    const key = dashboard.keyOf('Paused');
    await using watched = await dashboard.open();
    const { page } = watched;
    await page.keyboard.press('/');
    await page.keyboard.type(key.replace('/', ' '));
    await page.getByText('1 sync', { exact: true }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.locator('h1:focus').waitFor();
    assert.equal(await page.locator('h1').innerText(), key.replace(/.*\//, ''));
    await page.keyboard.press('Escape');
    await page.locator(`[data-sync="${key}"]:focus`).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.press('Control+A');
    await page.keyboard.press('Backspace');
    await page.getByText('500 syncs').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await page.locator('#list > li:first-child a:focus').waitFor();
    dashboard.assertQuiet(watched);
  });

  it('narrows the list down to a group, and says so in words', async () => {
    await dashboard.serve(100);
    await using watched = await dashboard.open();
    const { page } = watched;
    await page.getByRole('button', { name: '8 Need attention' }).click();
    assert.equal(await page.locator('#list > li').count(), 8);
    const pressed = page.getByRole('button', { name: '8 Need attention', pressed: true });
    assert.equal(await pressed.count(), 1);
    await page.getByLabel('Order by').selectOption('name');
    const keys = await page.evaluate<string[]>(
      `[...document.querySelectorAll('#list a')].map((link) => link.dataset.sync)`,
    );
    assert.deepEqual(
      keys,
      keys.toSorted((one, other) => one.localeCompare(other)),
    );
  });

  it('shows of one sync what the API says of it, and what becomes of it', async () => {
    await dashboard.serve(30);
    const key = dashboard.keyOf('InitialCopy');
    dashboard.source.details.set(key, busyDetail);
    await using watched = await dashboard.open(`#/syncs/${key}`);
    const { page } = watched;
    dashboard.source.change(key, {
      ...{ copiedBytes: 123_456_789_012, totalBytes: 234_567_890_123, percent: 52 },
      lagSeconds: 77,
    });
    await page.getByText('52 % of 235 GB').waitFor();
    const answer = await fetch(`http://127.0.0.1:${dashboard.server.port}/api/v1/syncs/${key}`);
    const report = (await answer.json()) as SyncReport;
    assert.equal(report.row.copiedBytes, 123_456_789_012);
    assert.equal(
      await page.locator('[title="123,456,789,012 bytes"]').first().innerText(),
      '123 GB',
    );
    const shown = await page.evaluate<string[][]>(
      `[...document.querySelectorAll('.rows tbody tr:not(.error-row)')]
        .map((row) => [...row.children].map((cell) => cell.innerText))`,
    );
    assert.deepEqual(
      shown.map(([name, , , copied, , events]) => [name, copied, events]),
      report.instances.map(({ id, isCoordinator, copiedBytes, eventsApplied }) => [
        isCoordinator ? `${id} coordinator` : id,
        bytesText(copiedBytes ?? 0),
        countText(eventsApplied ?? 0),
      ]),
    );
    assert.equal(await page.locator('header .version').innerText(), report.page.version);
    assert.equal(await page.getByText('no answer within 5000 ms').count(), 1);
    // The charts say in words, too, where they have come to.
    assert.equal(report.row.lagSeconds, 77);
    await page.getByRole('img', { name: 'lag 1 min 17 s now, at most ' }).waitFor();
    await page.getByRole('img', { name: /^Copy rate: [\d.]+ [kMGT]?B\/s now, at most / }).waitFor();
    const eventsShown = page.getByRole('region', { name: 'Events' });
    assert.deepEqual(
      await eventsShown.locator('.plain').allInnerTexts(),
      report.events?.shown.map(({ reason }) => reason),
    );
    await eventsShown.getByText('incomplete list: kubectl events has all').waitFor();
    assert.equal(await page.locator('.warnings > li').count(), report.warnings.length);
    assert.match(await page.locator('.step-current').innerText(), /^Initial copy/);
    assert.equal(await page.getByText('131 of 230 copied').count(), 1);
    assert.equal(await page.getByText('Building indexes: 12 of 41').count(), 1);
    const compared = 'Compared with the documents that were there: 48,200, 12 of them changed';
    assert.equal(await page.getByText(compared).count(), 1);
    assert.equal(await page.locator('.collections > li').count(), 12);
    await page.getByRole('button', { name: 'Show 88 more' }).click();
    assert.equal(await page.locator('.collections > li').count(), 100);
    dashboard.source.change(key, { percent: 100, eventsApplied: 4_321 });
    await page.getByRole('img', { name: /^Change rate: [\d.,]+\/s now, at most / }).waitFor();
    dashboard.source.change(key, { phase: 'Committed' });
    await page.locator('.title .pill', { hasText: 'Committed' }).waitFor();
    dashboard.source.syncs.delete(key);
    await page.getByText('There is no such sync').waitFor();
    // The answer that it is gone is a line in the console of the browser.
    assert.deepEqual(
      watched.complaints.filter((text) => !text.includes('status of 404')),
      [],
    );
  });

  it('counts differences that say the same', async () => {
    await dashboard.serve(30);
    const key = dashboard.keyOf('Committed');
    dashboard.source.details.set(key, { verifications: [differentVerification] });
    dashboard.source.change(key, { verifications: [differentVerification] });
    await using watched = await dashboard.open(`#/syncs/${key}`);
    const rows = watched.page.locator('.mismatches tbody tr');
    assert.deepEqual(
      (await rows.allInnerTexts()).map((text) => text.split('\t').map((cell) => cell.trim())),
      [
        ['shop.orders', 'differentIndex', 'index customer_1', 'only on shard-a', '1'],
        ['shop.orders', 'differentDocument', 'lines.3.price', '', '99'],
      ],
    );
    await watched.page.getByText('The first 100 are shown.').waitFor();
    const tile = watched.page.locator('.tile', { hasText: 'Verified' });
    assert.match(
      await tile.innerText(),
      /Different\s+212 differences: 8,250,120 documents compared/,
    );
    await watched.page.getByText('Do not use the destination until you know why').waitFor();
    dashboard.assertQuiet(watched);
  });

  it('has the commands that create the first sync, to be copied', async () => {
    await dashboard.serve(0);
    await using watched = await dashboard.browser.open();
    const { page } = watched;
    await page.goto(`http://127.0.0.1:${dashboard.server.port}/`);
    await page.getByText('There are no ClusterSyncs yet').waitFor();
    assert.equal(await page.locator('.command').count(), 3);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const last = page.locator('.command').last();
    await last.getByRole('button').click();
    await last.getByText('Copied').waitFor();
    assert.equal(
      await page.evaluate('navigator.clipboard.readText()'),
      await last.locator('code').innerText(),
    );
    dashboard.assertQuiet(watched);
  });

  it('has the command that commits a sync that is ready, and says when nothing verifies it', async () => {
    await dashboard.serve(30);
    const key = dashboard.keyOf('ChangeApplication');
    const commitReadiness = { isReady: true, message: 'every instance can commit' };
    dashboard.source.change(key, { commitReadiness, carriedOutBy: 'operator', verifications: [] });
    dashboard.source.details.set(key, { verifications: [] });
    await using watched = await dashboard.open(`#/syncs/${key}`);
    const [namespace = '', name = ''] = key.split('/');
    const command = `kubectl clustersync commit ${name} --namespace ${namespace}`;
    assert.equal(await watched.page.locator('.command code').innerText(), command);
    const tile = watched.page.locator('.tile', { hasText: 'Verified' });
    assert.match(await tile.innerText(), /None\s+nothing compares the data/);
    dashboard.assertQuiet(watched);
  });

  it('leads from a reason to what to do about it, if it knows where the documentation is', async () => {
    const docsUrl = 'https://docs.example.dev/{page}.html';
    await dashboard.serve(30, { docsUrl });
    const key = dashboard.keyOf('Stalled');
    const reason = 'OplogRolledOver';
    const readiness = { kind: 'stalled', reason, message: 'it is gone' } as const;
    dashboard.source.change(key, { readiness });
    const conditions = [
      { type: 'Ready', status: 'False', reason, message: 'it is gone' },
      { type: 'Stalled', status: 'True', reason, message: 'it is gone' },
      { type: 'InitialCopyDone', status: 'True', reason: 'Started', message: 'it is done' },
    ].map((each) => ({ ...each, since: '2026-01-01T00:00:00Z' }));
    dashboard.source.details.set(key, { conditions });
    await using watched = await dashboard.open(`#/syncs/${key}`);
    const addresses = async ({ page }: WatchedPage): Promise<unknown> =>
      await page.evaluate(`[...document.querySelectorAll('a.help')].map(({ href }) => href)`);
    const runbook = 'https://docs.example.dev/runbooks/oplog-rolled-over.html';
    assert.deepEqual(await addresses(watched), [runbook, runbook, runbook]);
    assert.deepEqual(await watched.inaccessible(), []);
    dashboard.assertQuiet(watched);
    await dashboard.server[Symbol.asyncDispose]();
    const made = dashboard.source;
    await dashboard.serve(0);
    for (const sync of made.summaries()) dashboard.source.put(sync);
    dashboard.source.details.set(key, { conditions });
    await using without = await dashboard.open(`#/syncs/${key}`);
    await without.page.getByRole('region', { name: 'Conditions' }).waitFor();
    assert.deepEqual(await addresses(without), []);
  });

  it('leads from what keeps a verification from its verdict, and from differences, to what to do', async () => {
    await dashboard.serve(30, { docsUrl: 'https://docs.example.dev/{page}.html' });
    const key = dashboard.keyOf('ChangeApplication');
    const failed = { phase: 'Failed', verdict: null, mismatches: null, list: null } as const;
    const error = 'the verification cannot continue: no';
    const verifications = [
      { ...differentVerification, name: 'first' },
      { ...differentVerification, ...failed, name: 'second', error, reason: 'CheckFailed' },
      { ...differentVerification, name: 'third', verdict: null, phase: 'Checking' },
      { ...differentVerification, name: 'fourth', verdict: null },
    ];
    dashboard.source.change(key, { verifications });
    dashboard.source.details.set(key, { verifications });
    await using watched = await dashboard.open(`#/syncs/${key}`);
    const { page } = watched;
    const helpIn = async (name: string): Promise<readonly (string | null)[]> => {
      const links = page.getByRole('region', { name }).getByRole('link', { name: 'What to do' });
      return await Promise.all(
        (await links.all()).map(async (link) => await link.getAttribute('href')),
      );
    };
    await page.getByText(error).waitFor();
    const runbook = 'https://docs.example.dev/runbooks/verification';
    assert.deepEqual(await helpIn('Verification first'), [`${runbook}-different.html`]);
    assert.deepEqual(await helpIn('Verification second'), [`${runbook}-stalled.html`]);
    // What differs while changes are under way is no reason to act.
    assert.deepEqual(await helpIn('Verification third'), []);
    const words = async (name: string): Promise<string> =>
      await page.getByRole('region', { name }).innerText();
    assert.match(await words('Verification third'), /differences so far: they are rechecked/);
    assert.match(await words('Verification fourth'), /differences found\./);
    assert.deepEqual(await watched.inaccessible(), []);
    dashboard.assertQuiet(watched);
  });

  it('asks for the token, and says when it is another', async () => {
    await dashboard.serve(30, { token });
    await using watched = await dashboard.browser.open();
    const { page } = watched;
    await page.goto(`http://127.0.0.1:${dashboard.server.port}/`);
    await page.getByLabel('Token').fill('open barley');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    // Who may not see the syncs does not learn the version, either.
    assert.equal(await page.locator('header .version').count(), 0);
    await watched.keepPicture('token-light');
    await page.getByLabel('Token').fill(token);
    await page.keyboard.press('Enter');
    await page.waitForSelector('#list');
    await page.reload();
    await page.waitForSelector('#list');
    assert.equal(
      await page.evaluate<string>('document.cookie + JSON.stringify(localStorage)'),
      '{}',
    );
  });

  it('says of the list and of a sync that figures are old, as soon as they are', async () => {
    await dashboard.serve(30);
    const old = 'On standby: figures are as of the last change';
    for (const hash of ['', `#/syncs/${dashboard.keyOf('ChangeApplication')}`]) {
      dashboard.source.staleness = null;
      await using watched = await dashboard.open(hash);
      const note = watched.page.getByText(old);
      assert.equal(await note.count(), 0);
      dashboard.source.staleness = old;
      await note.waitFor();
    }
  });

  it('is not live yet when it is looked at again', async () => {
    await dashboard.serve(30);
    await using watched = await dashboard.open();
    const { page } = watched;
    await page.waitForSelector('.is-live');
    const stalled = Promise.withResolvers<undefined>();
    // A request that nobody answers, as over a network that is gone.
    await page.route('**/stream', async () => {
      await stalled.promise;
    });
    for (const state of ['hidden', 'visible'])
      await page.evaluate(
        `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));`,
      );
    await page.waitForSelector('.is-connecting');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    stalled.resolve(undefined);
  });

  it('is not live any longer where nothing more comes over its connection', async () => {
    await dashboard.serve(30);
    await using watched = await dashboard.open();
    const { page } = watched;
    await page.waitForSelector('.is-live');
    await page.clock.install();
    const key = dashboard.keyOf('ChangeApplication');
    // What comes begins the time of the silence again, by the clock of the test.
    dashboard.source.change(key, { source: 'another-source' });
    await page.getByText('another-source').first().waitFor();
    await page.clock.fastForward(46_000);
    await page.waitForSelector('.is-reconnecting');
    await page.waitForSelector('.is-live');
  });

  it('continues by itself when the operator comes back', async () => {
    await dashboard.serve(30);
    await using watched = await dashboard.open();
    const { page } = watched;
    await dashboard.server[Symbol.asyncDispose]();
    await page.waitForSelector('.is-reconnecting');
    await dashboard.serve(31, { port: dashboard.server.port });
    await page.getByText('31 syncs').waitFor();
    await page.waitForSelector('.is-live');
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`can be used by everybody: ${colorScheme}`, async () => {
      // Each kind of row several times.
      await dashboard.serve(100);
      const copying = dashboard.keyOf('InitialCopy');
      dashboard.source.details.set(copying, {
        ...busyDetail,
        verifications: [{ ...differentVerification, verdict: null, phase: 'Checking' }],
      });
      const different = dashboard.source.summaries().find(({ verifications: [first] }) => {
        return first?.verdict === 'different';
      });
      assert.ok(different);
      dashboard.source.details.set(different.key, { verifications: [differentVerification] });
      const places = { overview: '', copy: copying, different: different.key };
      for (const [name, key] of Object.entries(places)) {
        const hash = key === '' ? '' : `#/syncs/${key}`;
        await using watched = await dashboard.open(hash, { colorScheme });
        assert.deepEqual(await watched.inaccessible(), [], name);
        await watched.keepPicture(`${name}-${colorScheme}`, { isWhole: key !== '' });
        dashboard.assertQuiet(watched);
        await using narrow = await dashboard.open(hash, { colorScheme, ...phone });
        assert.equal(await narrow.overflow(), 0, name);
        await narrow.keepPicture(`${name}-phone-${colorScheme}`);
      }
    });
  }
});
