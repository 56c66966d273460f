import assert from 'node:assert/strict';
import type { SyncReport } from '../../../dashboard/api/messages.ts';
import type { SyncSummary } from '../../../dashboard/api/sync-view.ts';
import type { Viewing, WatchedPage } from '../../ground/browser/browser.ts';
import { MadeUpDashboard, phone } from './made-up-dashboard.ts';

const hour = 3_600;
const docsUrl = 'https://docs.example.dev/{page}.html';
const card = 'Lag and oplog';

describe('the chart of lag and oplog, in Chromium', () => {
  const dashboard = new MadeUpDashboard();

  /** The page of a sync with these figures, once it has a chart. */
  async function chartOf(
    phase: string,
    figures: Partial<SyncSummary>,
    viewing: Viewing = {},
  ): Promise<WatchedPage & { readonly key: string }> {
    let key = '';
    await dashboard.serve(30, { docsUrl }, () => {
      key = dashboard.keyOf(phase);
      dashboard.source.change(key, figures);
    });
    const watched = await dashboard.open(`#/syncs/${key}`, viewing);
    await watched.page.getByRole('img', { name: card }).waitFor();
    return Object.assign(watched, { key });
  }

  /** How far down what a selector finds in the chart is: its middle, or its lower edge. */
  async function placesOf(
    { page }: WatchedPage,
    selector: string,
    edge: 'middle' | 'bottom' = 'middle',
  ): Promise<readonly number[]> {
    const place = edge === 'middle' ? '(box.top + box.bottom) / 2' : 'box.bottom';
    return await page.evaluate<number[]>(
      `[...document.querySelectorAll('[aria-labelledby=card-lag-and-oplog] ${selector}')]
        .map((each) => each.getBoundingClientRect())
        .map((box) => ${place})`,
    );
  }

  it('has both lines where the marks of the axis say, seconds and days', async () => {
    await using watched = await chartOf('ChangeApplication', {
      lagSeconds: 2,
      oplogSeconds: 40 * hour,
    });
    const { page, key } = watched;
    const region = page.getByRole('region', { name: card });
    const marks = await region.locator('.chart-scale span').allInnerTexts();
    assert.deepEqual(marks, ['0 s', '1 s', '1 min', '1 h', '1 d', '30 d']);
    const heights = await placesOf(watched, '.chart-scale span');
    for (const [index, height] of heights.slice(1).entries()) {
      // As far apart as a line of their text is high, or more.
      assert.ok((heights[index] ?? 0) - height >= 12, heights.join(' '));
    }
    const [nothing = 0, second = 0, minute = 0, , day = 0, month = 0] = heights;
    const [lag = 0, oplog = 0] = await placesOf(watched, '.chart-line');
    assert.ok(lag < second && lag > minute, `${lag} of ${heights.join(' ')}`);
    assert.ok(oplog < day && oplog > month, `${oplog} of ${heights.join(' ')}`);

    // A legend, and the same in words.
    assert.match(await region.innerText(), /Lag\s+2 s\s+Oplog lasts\s+1 d 16 h/);
    const words =
      /^Lag and oplog in the last .+: lag 2 s now, at most 2 s; oplog lasts 1 d 16 h now/;
    await page.getByRole('img', { name: words }).waitFor();
    await page.getByText('the lines would cross in about 19 h 59 min').waitFor();
    const answer = await fetch(`http://127.0.0.1:${dashboard.server.port}/api/v1/syncs/${key}`);
    const { history } = (await answer.json()) as SyncReport;
    assert.ok(history.length >= 2);
    assert.ok(history.every(([, , one, , other]) => one === 2 && other === 40 * hour));

    // No lag has a place, too: at the bottom.
    dashboard.source.change(key, { lagSeconds: 0 });
    await page.getByRole('img', { name: 'lag 0 s now, at most 2 s' }).waitFor();
    const [bottom = 0] = await placesOf(watched, '.chart-line', 'bottom');
    assert.ok(Math.abs(bottom - nothing) <= 2, `${bottom} is not at ${nothing}`);
    assert.deepEqual(await watched.inaccessible(), []);
    await watched.keepPicture('lag-and-oplog', { isWhole: true });
    dashboard.assertQuiet(watched);
  });

  it('shows both values at the pointer', async () => {
    await using watched = await chartOf('ChangeApplication', {
      lagSeconds: 3,
      oplogSeconds: 90,
    });
    const { page, key } = watched;
    dashboard.source.change(key, { lagSeconds: 30, oplogSeconds: 50 });
    const chart = page.getByRole('img', { name: 'lag 30 s now' });
    await chart.hover({ position: { x: 1, y: 10 } });
    const region = page.getByRole('region', { name: card });
    await region.getByText(/ at \d\d:\d\d:\d\d/).waitFor();
    assert.match(await region.innerText(), /Lag\s+3 s\s+Oplog lasts\s+1 min 30 s\s+at /);
  });

  it('marks where the lines have crossed, and leads to what to do', async () => {
    await using watched = await chartOf('ChangeApplication', {
      lagSeconds: 10,
      oplogSeconds: 2 * hour,
    });
    const { page, key } = watched;
    const region = page.getByRole('region', { name: card });
    const crossed = region.locator('.chart-crossed');
    assert.equal(await crossed.getAttribute('d'), '');
    assert.equal(await region.getByRole('link').count(), 0);
    dashboard.source.change(key, { lagSeconds: 3 * hour, oplogSeconds: hour });
    await page.getByText('The lag is higher than what is left of the oplog').waitFor();
    await page.getByRole('img', { name: '; the lines crossed at ' }).waitFor();
    const link = region.getByRole('link', { name: 'What to do' });
    const runbook = 'https://docs.example.dev/runbooks/oplog-window.html';
    assert.equal(await link.getAttribute('href'), runbook);
    const box = await crossed.boundingBox();
    assert.ok(box && box.width > 1 && box.height > 100, JSON.stringify(box));
    assert.deepEqual(await watched.inaccessible(), []);
    await watched.keepPicture('lag-and-oplog-crossed', { isWhole: true });
    dashboard.source.change(key, { oplogSeconds: 0 });
    await page.getByText('The oplog no longer holds what the sync has yet to read').waitFor();
  });

  it('shows the lag during the copy, too, and whether the oplog outlasts that', async () => {
    await using watched = await chartOf('InitialCopy', {
      lagSeconds: hour,
      oplogSeconds: 3 * hour,
    });
    const { page } = watched;
    await page
      .getByText('No change is applied during the copy: the lines cross in about 1 h')
      .waitFor();
    await page
      .getByRole('img', { name: 'lag 1 h now, at most 1 h; oplog lasts 3 h now' })
      .waitFor();
    await page.locator('.tile', { hasText: 'changes are applied after the copy' }).waitFor();
  });

  for (const viewing of [{ colorScheme: 'dark' } as const, phone]) {
    const how = 'width' in viewing ? 'on a phone' : 'in the dark';
    it(`says that nothing is known of the oplog, and shows only the lag: ${how}`, async () => {
      const figures = { lagSeconds: 70, oplogSeconds: null };
      await using watched = await chartOf('ChangeApplication', figures, viewing);
      const { page } = watched;
      const region = page.getByRole('region', { name: card });
      await region.getByText('Only the lag: how long the oplog lasts is not reported.').waitFor();
      const words = /: lag 1 min 10 s now, .*; how long the oplog lasts is not known$/;
      await page.getByRole('img', { name: words }).waitFor();
      assert.match(await region.innerText(), /Lag\s+1 min 10 s\s+Oplog lasts\s+–/);
      assert.equal(await region.locator('.chart-oplog').getAttribute('d'), '');
      assert.match((await region.locator('.chart-line').first().getAttribute('d')) ?? '', /^M.+L/);
      assert.equal(await watched.overflow(), 0);
      assert.deepEqual(await watched.inaccessible(), []);
      await watched.keepPicture(`lag-only-${'width' in viewing ? 'phone' : 'dark'}`, {
        isWhole: true,
      });
    });
  }
});
