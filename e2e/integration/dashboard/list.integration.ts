import assert from 'node:assert/strict';
import type { WatchedPage } from '../../ground/browser/browser.ts';
import { MadeUpDashboard, phone } from './made-up-dashboard.ts';

const minute = 60_000;

describe('the list of the dashboard, in Chromium', () => {
  const dashboard = new MadeUpDashboard();

  async function listAt(width: number): Promise<WatchedPage> {
    const watched = await dashboard.open('', { width, height: 860 });
    await watched.keepPicture(`list-${width}`);
    assert.equal(await watched.overflow(), 0);
    return watched;
  }

  /** The key of a sync that is three hours old, and whose oplog lasts for 40. */
  async function serveOne(): Promise<string> {
    await dashboard.serve(30);
    const key = dashboard.keyOf('ChangeApplication');
    const createdAt = new Date(Date.now() - 3 * 60 * minute - minute).toISOString();
    dashboard.source.change(key, { createdAt, lagSeconds: 7, oplogSeconds: 144_000 });
    return key;
  }

  it('has columns for age and oplog where there is room', async () => {
    const key = await serveOne();
    await using watched = await listAt(1280);
    const { page } = watched;
    assert.deepEqual(await page.locator('.line-heads > span').allInnerTexts(), [
      ...['Sync', 'From and to', 'Initial copy', 'Lag', 'Oplog', 'Verification', 'Phase', 'Age'],
    ]);
    const line = page.locator(`[data-sync="${key}"]`);
    await line.scrollIntoViewIfNeeded();
    assert.equal(await line.locator('.line-lag').innerText(), '7 s');
    assert.equal(await line.locator('.line-oplog').innerText(), '1 d 16 h');
    assert.equal(await line.locator('.line-age').innerText(), '3 h');
    assert.match((await line.locator('time').getAttribute('title')) ?? '', /^\d{4}-\d\d-\d\dT/);
    // Each below its head, and nothing cut off.
    for (const name of ['lag', 'oplog', 'age']) {
      const [head, cell] = [
        await page.locator(`.line-heads > .line-${name}`).boundingBox(),
        await line.locator(`.line-${name}`).boundingBox(),
      ];
      assert.ok(head && cell);
      const [side, other] =
        name === 'age' ? [head.x + head.width, cell.x + cell.width] : [head.x, cell.x];
      assert.ok(Math.abs(side - other) < 2, `${name}: ${side}, ${other}`);
    }
    const card = await page.locator('.card.list').boundingBox();
    const ends = await page.evaluate<number[]>(
      `[...document.querySelectorAll('.line-age')].map((each) => each.getBoundingClientRect().right)`,
    );
    assert.equal(ends.length, 31);
    for (const end of ends) assert.ok(end <= (card ? card.x + card.width : 0), String(end));
    // What is over has neither, and keeps its age.
    const over = page.locator(`[data-sync="${dashboard.keyOf('Committed')}"]`);
    await over.scrollIntoViewIfNeeded();
    assert.equal(await over.locator('.line-oplog').innerText(), '');
    assert.match(await over.locator('.line-age').innerText(), /^\d+ h$/);
    dashboard.assertQuiet(watched);
  });

  it('has them no longer where there is none, and the oplog with the lag in narrow windows', async () => {
    const key = await serveOne();
    await using middle = await listAt(1100);
    const line = middle.page.locator(`[data-sync="${key}"]`);
    assert.equal(await line.locator('.line-lag').isVisible(), true);
    assert.equal(await line.locator('.line-oplog').isVisible(), false);
    assert.equal(await line.locator('.line-age').isVisible(), false);
    for (const width of [900, phone.width]) {
      await using narrow = await listAt(width);
      const one = narrow.page.locator(`[data-sync="${key}"]`);
      await one.scrollIntoViewIfNeeded();
      const [lag, oplog] = [one.locator('.line-lag'), one.locator('.line-oplog')];
      assert.equal(await oplog.isVisible(), true);
      assert.equal(await oplog.locator('.small-label').isVisible(), true);
      assert.deepEqual(
        [await lag.textContent(), await oplog.textContent()],
        ['Lag7 s', 'Oplog1 d 16 h'],
      );
      const [left, right] = [await lag.boundingBox(), await oplog.boundingBox()];
      assert.ok(left && right);
      // Beside it, or below where the phase is long.
      assert.ok(left.x + left.width < right.x || left.y + left.height <= right.y);
      assert.ok(right.x + right.width < width);
    }
  });

  it('lets ages grow while nothing else changes', async () => {
    await dashboard.serve(30);
    const key = dashboard.keyOf('Committed');
    await using watched = await dashboard.browser.open();
    const { page } = watched;
    await page.clock.install();
    await page.goto(`http://127.0.0.1:${dashboard.server.port}/`);
    const age = page.locator(`[data-sync="${key}"] .line-age`);
    const hours = Number.parseInt(await age.innerText(), 10);
    await page.clock.fastForward(60 * minute);
    await page.locator(`[data-sync="${key}"] .line-age`, { hasText: `${hours + 1} h` }).waitFor();
  });
});
