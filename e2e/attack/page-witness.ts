import assert from 'node:assert/strict';
import { findRoute } from '../../dashboard/server/dashboard-server.ts';
import type { WatchedPage } from '../ground/browser/browser.ts';
import { until } from '../ground/until.ts';
import { obeyed } from './hostile-texts.ts';

/** A text of a page, and how it appears there. */
interface ShownText {
  readonly text: string;
  /** It is all that its element holds, and the element keeps its direction to itself. */
  readonly isIsolated: boolean;
}

/** What a page is made of. */
interface Look {
  readonly texts: readonly ShownText[];
  readonly attributes: readonly string[];
  /** What the dashboard never makes: elements, attributes, addresses. */
  readonly strange: readonly string[];
  /** Texts of the page's own whose characters are not in their order. */
  readonly reordered: readonly string[];
  readonly title: string;
}

const reports = ['dialog', 'popup', 'download', 'worker', 'frameattached'] as const;

/** How long a page may take no input, on a machine that has much else to do: alone it takes a fraction of that. */
const maxPauseMs = 20_000;

/** Observes whether a page does anything with a text other than display it. */
export class PageWitness {
  readonly #watched: WatchedPage;
  readonly #origin: string;
  readonly #obeyed: string[] = [];

  private constructor(watched: WatchedPage, origin: string) {
    this.#watched = watched;
    this.#origin = origin;
  }

  /** Begins before the page is opened. @param origin - of the dashboard: `http://127.0.0.1:8081`. */
  static async of(watched: WatchedPage, origin: string): Promise<PageWitness> {
    const witness = new PageWitness(watched, origin);
    const { page } = watched;
    const note = (what: string): void => {
      witness.#obeyed.push(what);
    };
    await page.exposeFunction(obeyed, () => {
      note('a script ran');
    });
    await page.exposeFunction('noteViolation', note);
    await page.addInitScript(witnessScript);
    for (const report of reports)
      page.on(report as 'popup', () => {
        note(`there was a ${report}`);
      });
    page.on('dialog', (dialog) => {
      void dialog.dismiss();
    });
    return witness;
  }

  /** What the policy of the page has refused, and whatever else it did, since the last time. */
  takeObeyed(): readonly string[] {
    return this.#obeyed.splice(0);
  }

  /** Waits until a text is shown, as an element of its own. */
  async untilShown(text: string): Promise<void> {
    const asked = `(${isShownScript})(${JSON.stringify(text.toWellFormed())})`;
    await until(`"${text.slice(0, 200)}" is shown`, async () => {
      return await this.#watched.page.evaluate<boolean>(asked);
    });
  }

  async look(hostile: readonly string[]): Promise<Look> {
    return await this.#watched.page.evaluate<Look>(`(${lookScript})(${JSON.stringify(hostile)})`);
  }

  /**
   * Asserts that texts are shown as they are, each for itself, and that nothing of the page has become another by them.
   * @param hostile - each as it should be shown.
   */
  async assertShown(hostile: readonly string[]): Promise<void> {
    const { texts, strange, reordered, title } = await this.look(hostile);
    const isOneOf = new Set(hostile.map((text) => text.toWellFormed()));
    const shown = new Map(texts.map((each) => [each.text, each]));
    const missing = hostile.map((text) => text.toWellFormed()).filter((text) => !shown.has(text));
    assert.deepEqual(missing, [], `not shown; there is ${[...shown.keys()].join(' | ')}`);
    const open = texts.filter((each) => isOneOf.has(each.text) && !each.isIsolated);
    assert.deepEqual(open, [], 'these may move what stands beside them');
    assert.deepEqual(strange, []);
    assert.deepEqual(reordered, []);
    assert.match(title, /^(?:Syncs|[a-z0-9.-]{1,253}) · clustersync$/);
    await this.assertObeysNothing();
  }

  /** Asserts that nothing ran, was asked for, or was complained of, and that the page has taken what its user did all the time. */
  async assertObeysNothing({
    expected = /^$/,
  }: { readonly expected?: RegExp } = {}): Promise<void> {
    const { page, complaints, requests } = this.#watched;
    const pauseMs = await page.evaluate<number>('longestPauseMs');
    assert.ok(pauseMs < maxPauseMs, `it stood still for ${pauseMs} ms`);
    assert.deepEqual(this.takeObeyed(), []);
    assert.deepEqual(
      complaints.filter((complaint) => !expected.test(complaint)),
      [],
    );
    const strange = requests.filter(({ origin, pathname, search }) => {
      const isKnown =
        pathname === '/' || /^\/assets\/[\w/.-]+$/.test(pathname) || isStream(pathname);
      // The page itself is asked for with whatever query somebody has linked to.
      return origin !== this.#origin || !isKnown || (search !== '' && pathname !== '/');
    });
    assert.deepEqual(
      strange.map(({ href }) => href.slice(0, 300)),
      [],
    );
    const url = new URL(page.url());
    assert.deepEqual([url.origin, url.pathname], [this.#origin, '/']);
  }
}

/** Whether it is a path that the page follows, and names what Kubernetes lets somebody name. */
function isStream(pathname: string): boolean {
  const found = findRoute(pathname);
  return found?.route.isStream === true && /^[a-z0-9./-]*$/.test(found.key);
}

/** Runs before each page. */
const witnessScript = `
  globalThis.longestPauseMs = 0;
  let lastMs = performance.now();
  setInterval(() => {
    const nowMs = performance.now();
    longestPauseMs = Math.max(longestPauseMs, nowMs - lastMs);
    lastMs = nowMs;
  }, 50);
  addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) => {
    noteViolation(effectiveDirective + ' forbids ' + blockedURI);
  });
`;

/** Whether a text is there. A Look says so too, but measures each character of the page. */
const isShownScript = `(text) => {
  const walker = document.createTreeWalker(document.getElementById('page'), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (node.data.toWellFormed() === text) return true;
  return false;
}`;

/** Gives a Look. Runs in the page, by the debugger. */
const lookScript = `(hostile) => {
  const place = document.getElementById('page');
  const own = new Set('A BDI BUTTON CODE DD DIV DL DT H1 H2 H3 HEADER IMG INPUT LABEL LI MAIN NAV OL OPTION P SECTION SELECT SPAN STRONG SVG PATH TABLE TBODY TD TH THEAD TIME TR UL'.split(' '));
  const texts = [], attributes = [], strange = [], reordered = [];
  const isTold = (text) => hostile.some((each) => text === each || (each.length > 3 && text.includes(each)));
  for (const element of place.querySelectorAll('*')) {
    const isNote = element.tagName === 'NOSCRIPT' && element.textContent === 'This page needs JavaScript.';
    if (!isNote && !own.has(element.tagName.toUpperCase())) strange.push(element.tagName);
    for (const { name, value } of element.attributes) {
      attributes.push(value);
      const isOwn =
        name === 'href' ? /^#(\\/|\\/syncs\\/[\\w.%-]+\\/[\\w.%-]+|content)$/.test(value)
        : name === 'src' ? value === 'assets/dashboard/page/icon.svg'
        : name === 'style' ? /^(width|bottom): [\\d.]+%;$/.test(value)
        : /^(class|id|title|role|alt|type|key|for|value|width|height|datetime|scope|colspan|tabindex|placeholder|autocomplete|selected|viewBox|focusable|d|preserveAspectRatio|aria-[a-z]+|data-(sync|label))$/.test(name);
      if (!isOwn || (name === 'class' && /["'<>{}();:]/.test(value))) strange.push(name + '=' + value.slice(0, 200));
    }
  }
  for (const one of document.querySelectorAll('head > *, body > *')) {
    if (!/^(META|TITLE|LINK|SCRIPT|DIV)$/.test(one.tagName)) strange.push(one.tagName);
  }
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.data, parent = node.parentElement;
    if (text === '') continue;
    const direction = getComputedStyle(parent).unicodeBidi;
    const isIsolated = parent.childNodes.length === 1 && /isolate|plaintext/.test(direction);
    texts.push({ text: text.toWellFormed(), isIsolated });
    if (isTold(text) || text.length > 1000) continue;
    let last;
    for (let index = 0; index < text.length; index++) {
      range.setStart(node, index);
      range.setEnd(node, index + 1);
      const [box] = range.getClientRects();
      if (!box || box.width === 0) continue;
      if (last && Math.abs(box.top - last.top) < 2 && box.left < last.left - 0.5) {
        reordered.push(text);
        break;
      }
      last = box;
    }
  }
  return { texts, attributes, strange, reordered, title: document.title };
}`;
