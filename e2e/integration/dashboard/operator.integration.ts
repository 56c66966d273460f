import assert from 'node:assert/strict';
import { syncVerifications } from '../../../operator/api/sync-verification.ts';
import { events } from '../../../operator/kube/builtin-resources.ts';
import { microTime } from '../../../operator/kube/micro-time.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import type { SyncReport } from '../../../dashboard/api/messages.ts';
import type { EventsView } from '../../../dashboard/api/sync-view.ts';
import { forEachConcurrently } from '../../../service/concurrency.ts';
import { TestBrowser } from '../../ground/browser/browser.ts';
import { until } from '../../ground/until.ts';
import { OperatorGround, RunningOperator } from '../operator/operator-ground.ts';
import { applying, committed, copying, idle, StandIn } from '../operator/stand-in.ts';

const signal = new AbortController().signal;
const dashboardToken = 'open sesame';
const docsUrl = 'https://docs.example.dev/{page}.html';

/** What a verifier says of a difference: more than the page may show. */
const mismatch = {
  ...{ namespace: 'shop.orders', kind: 'differentDocument', field: 'lines.0.price' },
  ...{ id: '{"$oid":"65a0"}', sourceValue: 'secret price', destinationValue: 'other price' },
};
const comparing = {
  ...{ phase: 'recheck', error: null, verdict: null, verificationStatus: { totalTasks: 3 } },
  ...{ generation: 1, documentsCompared: 1_234, mismatchCount: 1, mismatches: [mismatch] },
  mismatchKinds: [{ kind: 'differentDocument', count: 1 }],
  mismatchNamespaces: [{ namespace: 'shop.orders', count: 1 }],
};

const lastPass = {
  ...{ generation: 0, mismatchCount: 0, longestSeconds: 0, isWhole: true },
  ...{ shortSeconds: 0, ageSeconds: 0 },
};
const found = { mismatchCount: 0, mismatches: [], mismatchKinds: [], mismatchNamespaces: [] };
const equalSoFar = { ...comparing, ...found, lastPass };

describe("the operator's dashboard, with a real API server and in Chromium", () => {
  let browser: TestBrowser;
  let ground: OperatorGround;
  let operator: RunningOperator;

  before(async () => {
    browser = await TestBrowser.start();
    ground = await OperatorGround.start();
    const choices = { dashboard: true, dashboardToken, docsUrl };
    operator = await RunningOperator.start(ground.kubeconfig, choices);
  });

  after(async () => {
    await operator[Symbol.asyncDispose]();
    await ground[Symbol.asyncDispose]();
    await browser[Symbol.asyncDispose]();
  });

  it('follows a sync from its copy to its verdict', async () => {
    const { namespace, address } = await ground.newPlace();
    await using syncer = await StandIn.start(address, 27182, { progress: idle });
    await using verifier = await StandIn.start(address, 27020, { progress: equalSoFar });
    verifier.answers.set('mismatches', { mismatches: [mismatch], next: null });
    syncer.answers.set('collections', {
      ...{ total: 2, copied: 1 },
      collections: [
        {
          ...{ namespace: 'shop.orders', isCopied: false },
          ...{ estimatedTotalBytes: 900, estimatedCopiedBytes: 150 },
        },
        {
          ...{ namespace: 'shop.customers', isCopied: true },
          ...{ estimatedTotalBytes: 100, estimatedCopiedBytes: 100 },
        },
      ],
    });
    syncer.onCommand = (name) => {
      if (name === 'start') syncer.progress = { progress: copying };
      if (name === 'commit') syncer.progress = { progress: committed };
    };
    await using watched = await browser.open();
    const { page } = watched;
    await page.goto(`http://127.0.0.1:${operator.dashboardPort}/`);
    await page.getByLabel('Token').fill(dashboardToken);
    await page.keyboard.press('Enter');
    await page.getByText('There are no ClusterSyncs yet').waitFor();

    await ground.createSync(namespace);
    const line = page.locator(`[data-sync="${namespace}/orders"]`);
    await line.waitFor();
    await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);
    await line.getByText('25 %').waitFor();
    await line.getByText('250 B of 1.0 kB').waitFor();

    await line.click();
    await page.getByText('25 % of 1.0 kB').waitFor();
    await page.getByText('1 of 2 copied').waitFor();
    const collection = page.locator('.collections > li', { hasText: 'shop.orders' });
    assert.match(await collection.innerText(), /copying\s+150 B of 900 B/);
    await page.locator('.step-current', { hasText: 'Initial copy' }).waitFor();

    const moved = { estimatedTotalBytes: 1000, estimatedCopiedBytes: 750 };
    syncer.progress = {
      progress: { ...copying, collectionCopy: moved, totalEventsApplied: 4_321 },
    };
    await page.getByText('75 % of 1.0 kB').waitFor();
    await page.getByRole('cell', { name: '4,321' }).waitFor();
    const { totals } = await ground.untilSync(namespace, 'the API says the same', (status) => {
      return status.totals?.percent === 75;
    });
    assert.deepEqual(totals, { ...moved, percent: 75 });

    const running = { ...applying, lagTimeSeconds: 5, startedAt: '2026-01-01T00:00:00Z' };
    syncer.progress = { progress: { ...running, warnings: ['mind the gap'] } };
    await page.locator('.title .pill', { hasText: 'Applying changes' }).waitFor();
    await page
      .locator('.figures')
      .getByText('no SyncVerification compares the data of this sync')
      .waitFor();
    const commitCommand = `kubectl clustersync commit orders --namespace ${namespace}`;
    assert.equal(await page.getByText(commitCommand).count(), 0);
    await page.getByText('mind the gap').waitFor();
    await page.getByRole('rowheader', { name: 'old coordinator' }).waitFor();

    await ground.client.create<KubeObject>(
      syncVerifications,
      {
        metadata: { namespace, name: 'check' },
        spec: { clusterSyncRef: { name: 'orders' } },
      } as never,
      { signal },
    );
    await ground.runPod(await ground.untilMade(namespace, 'check-verifier'), address);
    await page.locator('.title .pill', { hasText: 'Ready to commit' }).waitFor();
    await page.getByText(commitCommand).waitFor();
    verifier.progress = { progress: comparing };
    await page.getByText('1 difference', { exact: true }).waitFor();
    await page.getByRole('cell', { name: 'lines.0.price' }).waitFor();
    const report = await fetch(
      `http://127.0.0.1:${operator.dashboardPort}/api/v1/syncs/${namespace}/orders`,
      { headers: { Authorization: `Bearer ${dashboardToken}` } },
    );
    const text = await report.text();
    assert.equal((JSON.parse(text) as SyncReport).page.docsUrl, docsUrl);
    assert.match(text, /lines\.0\.price/);
    assert.doesNotMatch(text, /secret price|other price|65a0/);

    await ground.patchSync(namespace, { state: 'Committed' });
    await page.locator('.title .pill', { hasText: 'Committed' }).waitFor();
    await page
      .getByText('the sync is committed; applications may write to the destination')
      .waitFor();
    await watched.keepPicture('operator-committed', { isWhole: true });
    // The browser itself says that the first answer was a refusal.
    assert.deepEqual(
      watched.complaints.filter((complaint) => !complaint.includes('status of 401')),
      [],
    );
    const hosts = new Set(watched.requests.map(({ host }) => host));
    assert.deepEqual([...hosts], [`127.0.0.1:${operator.dashboardPort}`]);
  });

  it('reads no more than 500 events of a sync, shows 50, and says that there are others', async () => {
    const { namespace } = await ground.newPlace();
    const sync = await ground.createSync(namespace);
    const { name, uid = '' } = sync.metadata;
    const regarding = { apiVersion: sync.apiVersion, kind: sync.kind, namespace, name, uid };
    // Not all at once: each request has 10 seconds for its answer, however many wait beside it.
    await forEachConcurrently(Array(510).keys(), 16, async (n) => {
      const event = {
        ...{ metadata: { namespace, name: `${name}.${n}` }, regarding },
        ...{ eventTime: microTime(Date.now()), type: 'Normal', reason: 'Much', action: 'Tell' },
        ...{ reportingController: 'example.com/much', reportingInstance: 'much' },
      };
      await ground.client.create(events, event, { signal });
    });
    const path = `/api/v1/syncs/${namespace}/${name}`;
    let report: { readonly events?: EventsView } = {};
    await until('the page has the events', async () => {
      const headers = { Authorization: `Bearer ${dashboardToken}` };
      const answer = await fetch(`http://127.0.0.1:${operator.dashboardPort}${path}`, { headers });
      report = (await answer.json()) as typeof report;
      return (report.events?.shown.length ?? 0) > 0;
    });
    assert.equal(report.events?.shown.length, 50);
    assert.equal(report.events.hasMore, true);
    const others = await ground.client.list(events, { namespace, signal });
    assert.ok(others.items.length >= 510);
  });
});
