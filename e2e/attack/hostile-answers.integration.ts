import assert from 'node:assert/strict';
import { clusterSyncs } from '../../operator/api/clustersync.ts';
import { syncVerifications } from '../../operator/api/sync-verification.ts';
import { KubeError } from '../../operator/kube/kube-error.ts';
import type { KubeObject } from '../../operator/kube/resource.ts';
import { harmlessLines } from '../../service/harmless.ts';
import { TestBrowser, type WatchedPage } from '../ground/browser/browser.ts';
import { CliProcess } from '../ground/cli-process.ts';
import { until } from '../ground/until.ts';
import { smallestSpec } from '../integration/operator/custom-resources.ts';
import { OperatorGround, RunningOperator } from '../integration/operator/operator-ground.ts';
import { applying, StandIn } from '../integration/operator/stand-in.ts';
import { useClusterPair } from '../integration/syncer/cluster-pair.ts';
import { hostileTexts, textAt } from './hostile-texts.ts';
import { PageWitness } from './page-witness.ts';

const { signal } = new AbortController();
const texts = Object.values(hostileTexts);

async function openedAt(
  browser: TestBrowser,
  address: string,
): Promise<[WatchedPage, PageWitness]> {
  const watched = await browser.open();
  const witness = await PageWitness.of(watched, new URL(address).origin);
  await watched.page.goto(address);
  return [watched, witness];
}

describe('what pods and tenants say, on the page of the operator', () => {
  const stack = new AsyncDisposableStack();
  let browser: TestBrowser;
  let ground: OperatorGround;
  let operator: RunningOperator;

  before(async () => {
    browser = stack.use(await TestBrowser.start());
    ground = stack.use(await OperatorGround.start());
    operator = stack.use(await RunningOperator.start(ground.kubeconfig, { dashboard: true }));
  });

  after(async () => {
    await stack.disposeAsync();
  });

  it('is shown as text, and what is not as it should be is left out, however a pod answers', async () => {
    const { namespace, address } = await ground.newPlace();
    await using syncer = await StandIn.start(address, 27182, { progress: hostileProgress });
    await using verifier = await StandIn.start(address, 27020, { progress: hostileVerification });
    syncer.answers.set('collections', hostileCollections);
    verifier.answers.set('mismatches', { mismatches: hostileMismatches, next: null });
    const sync = await ground.createSync(namespace);
    await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);
    const { uid = '' } = sync.metadata;
    for (const [index, text] of texts.entries())
      await makeOldEvent(ground, { namespace, uid, name: `hostile-${index}`, text });
    const made = { clusterSyncRef: { name: 'orders' } };
    await ground.client.create<KubeObject>(
      syncVerifications,
      { metadata: { namespace, name: 'check' }, spec: made } as never,
      { signal },
    );
    await ground.runPod(await ground.untilMade(namespace, 'check-verifier'), address);
    const dashboard = `http://127.0.0.1:${operator.dashboardPort}`;
    const key = `syncs/${namespace}/orders`;
    await until('the dashboard knows of it', async () => {
      return (await fetch(`${dashboard}/api/v1/${key}`)).ok;
    });
    const [opened, witness] = await openedAt(browser, `${dashboard}/#/${key}`);
    await using watched = opened;
    const { page } = watched;
    const shown = (place: string): string[] =>
      texts.map((text) => harmlessLines(textAt(text, place)));
    await witness.untilShown(shown('warning').at(-1) ?? '');
    await witness.untilShown(shown('event').at(-1) ?? '');
    await witness.untilShown(shown('detail').at(-1) ?? '');
    await page.getByRole('button', { name: /^Show \d+ more$/ }).click();
    const places = ['warning', 'collection', 'event', 'namespace', 'kind', 'detail'];
    const indexes = texts.filter(isOfIndex).map(harmlessLines);
    await witness.assertShown([...places.flatMap(shown), ...indexes]);
    await page.locator('.title .pill', { hasText: 'Applying changes' }).waitFor();
    const { 'an image': image = '' } = hostileTexts;
    syncer.progress = { error: `${image}: ${image}` };
    await page.locator('.error', { hasText: image }).waitFor();
    await witness.assertObeysNothing();
  });

  it('is in no name of a resource or a deployment: the API server takes none that is more than a name', async () => {
    const { namespace } = await ground.newPlace();
    for (const text of [...texts, 'A', 'a_b', '..', '-', '__proto__']) {
      const drafts = [
        { name: text, spec: smallestSpec },
        {
          name: 'named',
          spec: { ...smallestSpec, source: { ...smallestSpec.source, name: text } },
        },
      ];
      for (const { name, spec } of drafts)
        await assert.rejects(
          ground.client.create<KubeObject>(
            clusterSyncs,
            { metadata: { namespace, name }, spec } as never,
            { signal },
          ),
          KubeError,
          text,
        );
    }
  });
});

describe('what a database is called, on the page of clustersync run', () => {
  const pair = useClusterPair();
  let browser: TestBrowser;

  before(async () => {
    browser = await TestBrowser.start();
  });

  after(async () => {
    await browser[Symbol.asyncDispose]();
  });

  it('is shown as text, as are the fields in which documents differ', async () => {
    await pair.reset();
    // MongoDB takes no $ and no NUL in the name of a collection, and 255 bytes with its database.
    const names = texts.filter(
      (text) => text.isWellFormed() && !/[$\0]/.test(text) && Buffer.byteLength(text) < 200,
    );
    assert.ok(names.length > 20);
    for (const name of names)
      await pair.source.client
        .db('shop')
        .collection<{ _id: string }>(name)
        .insertOne({ _id: name });
    const files = {
      source: pair.source.set.uri('syncer'),
      destination: pair.destination.set.uri('syncer'),
    };
    const args = ['run', '--source-file', '{source}', '--destination-file', '{destination}'];
    await using cli = await CliProcess.start([...args, '--web', '0'], { hasTerminal: true, files });
    await cli.untilSays(/progress page: http:\S+/);
    const [, address = ''] = /progress page: (http:\S+)/.exec(await cli.output()) ?? [];
    const [opened, witness] = await openedAt(browser, address);
    await using watched = opened;
    const { page } = watched;
    await page.getByText('No differences so far.').waitFor();
    const changed = names.slice(0, 5);
    for (const name of changed)
      await pair.destination.client
        .db('shop')
        .collection<{ _id: string }>(name)
        .updateOne({ _id: name }, { $set: { [name.replaceAll('.', '')]: name } });
    await page.getByText('5 differences', { exact: true }).waitFor();
    const shown = changed.map((name) => harmlessLines(`shop.${name}`));
    const fields = changed.map((name) => harmlessLines(name.replaceAll('.', '')));
    await witness.assertShown([...shown, ...fields]);
  });
});

const noTexts: readonly unknown[] = [
  ...[{ __html: '<b>' }, ['a'], null, 1],
  { constructor: null, type: 'script', props: {} },
];

/** A syncer's answer: what is no text, no number, or no list where there should be one is as if it was not there. */
const hostileProgress = {
  ...applying,
  ...{ lagTimeSeconds: { toString: 1 }, totalEventsApplied: '7', estimatedSecondsToCatchUp: -1 },
  ...{ estimatedOplogTimeRemainingSeconds: 1e308, indexBuilding: [[1]], constructor: { name: 1 } },
  collectionCopy: { estimatedTotalBytes: 1e15, estimatedCopiedBytes: 1e14 },
  warnings: [...texts.map((text) => textAt(text, 'warning')), ...noTexts],
};

const hostileCollections = {
  ...{ total: 1e308, copied: 'all' },
  collections: texts.map((text) => ({
    ...{ namespace: textAt(text, 'collection'), isCopied: 'yes' },
    ...{ estimatedTotalBytes: '9'.repeat(400), estimatedCopiedBytes: -5 },
  })),
};

/** Whether a mismatch of it tells an index. */
const isOfIndex = (_: string, index: number): boolean => index % 2 === 0;

const hostileMismatches = texts.map((text, index) => ({
  ...{ namespace: textAt(text, 'namespace'), kind: textAt(text, 'kind') },
  ...{ id: text, detail: textAt(text, 'detail'), sourceValue: text, destinationValue: text },
  ...(isOfIndex(text, index) ? { index: text } : { field: { toString: text } }),
}));

const hostileVerification = {
  ...{ phase: 'recheck', error: null, verdict: null, verificationStatus: { totalTasks: '3' } },
  ...{ generation: 1, documentsCompared: 12, mismatchCount: texts.length },
  ...{ mismatches: hostileMismatches.slice(0, 2), generationStats: [1e999] },
  mismatchKinds: [{ kind: texts[0], count: 1 }],
  mismatchNamespaces: [{ namespace: texts[1], count: 1 }],
};

/** An event as clients of the older API create it, without a time of its own: anyone who may create events may create one. */
async function makeOldEvent(
  { client }: OperatorGround,
  event: {
    readonly namespace: string;
    readonly uid: string;
    readonly name: string;
    readonly text: string;
  },
): Promise<void> {
  const { namespace, uid, name, text } = event;
  const involvedObject = { kind: `<b>${name}`, namespace, name: 'orders', uid };
  const body = {
    ...{ apiVersion: 'v1', kind: 'Event', metadata: { namespace, name }, involvedObject },
    ...{ type: '<b>', reason: `<i>${name}`, message: textAt(text, 'event').toWellFormed() },
  };
  await client.raw({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/events`,
    body,
    signal,
  });
}
