import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import axe, { type AxeResults } from 'axe-core';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { defaultDeadlineMs } from '../default-deadline.ts';

/** How a page is displayed. */
export interface Viewing {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: 'light' | 'dark';
  /** Whether pages may run scripts; they may by default. */
  readonly hasScripts?: boolean;
  /** By default that of the machine. */
  readonly timezone?: string;
}

const script = fileURLToPath(new URL('chromium-binary.sh', import.meta.url));
const artifacts = fileURLToPath(new URL('../../.artifacts/', import.meta.url));

/** A Chromium that asks nobody but the page that is opened. */
export class TestBrowser implements AsyncDisposable {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  /**
   * Starts it; on a machine that has none it is installed first.
   * @param namesOfThisMachine - names that mean this machine, as the owner of a name may have them do.
   */
  static async start(namesOfThisMachine: readonly string[] = []): Promise<TestBrowser> {
    const rules = namesOfThisMachine.map((name) => `MAP ${name} 127.0.0.1`);
    const { stdout } = await promisify(execFile)(script);
    const browser = await chromium.launch({
      executablePath: stdout.trim(),
      headless: true,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        ...(rules.length > 0 ? [`--host-resolver-rules=${rules.join(',')}`] : []),
      ],
    });
    return new TestBrowser(browser);
  }

  /** A new page that nothing is remembered in. */
  async open({
    width = 1280,
    height = 860,
    colorScheme = 'light',
    hasScripts = true,
    timezone,
  }: Viewing = {}) {
    const context = await this.#browser.newContext({
      viewport: { width, height },
      colorScheme,
      javaScriptEnabled: hasScripts,
      reducedMotion: 'reduce',
      ...(timezone !== undefined && { timezoneId: timezone }),
    });
    context.setDefaultTimeout(defaultDeadlineMs);
    return new WatchedPage(context, await context.newPage());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}

/** A page of which everything is noted that should not be: disposing of it says nothing. */
export class WatchedPage implements AsyncDisposable {
  readonly page: Page;
  readonly #context: BrowserContext;
  /** Errors and warnings of the console, with the address that each is about, and errors that nobody has caught. */
  readonly complaints: string[] = [];
  /** The addresses that it has asked for. */
  readonly requests: URL[] = [];

  constructor(context: BrowserContext, page: Page) {
    this.#context = context;
    this.page = page;
    page.on('console', (message) => {
      if (!['error', 'warning'].includes(message.type())) return;
      this.complaints.push(`${message.text()} (${message.location().url})`);
    });
    page.on('pageerror', ({ message }) => {
      this.complaints.push(message);
    });
    page.on('request', (request) => {
      this.requests.push(new URL(request.url()));
    });
  }

  /** Keeps a picture of it with the test artefacts. */
  async keepPicture(name: string, { isWhole = false, of = 'dashboard' } = {}): Promise<void> {
    const folder = join(artifacts, of);
    await mkdir(folder, { recursive: true });
    await this.page.screenshot({ path: join(folder, `${name}.png`), fullPage: isWhole });
  }

  /** What axe-core finds that is serious or critical, a line for each. */
  async inaccessible(): Promise<string[]> {
    // It is run by the debugger: the policy of the page forbids scripts of others.
    await this.page.evaluate(axe.source);
    const { violations } = await this.page.evaluate<AxeResults>('axe.run()');
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  }

  /** How much wider than the window the content is. */
  async overflow(): Promise<number> {
    return await this.page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
  }
}
