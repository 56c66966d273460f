import assert from 'node:assert/strict';
import type { Snapshot } from '../../../dashboard/api/messages.ts';
import {
  startDashboard,
  type DashboardOptions,
  type DashboardServer,
} from '../../../dashboard/server/dashboard-server.ts';
import { createLogger } from '../../../service/logger.ts';
import { TestBrowser, type Viewing, type WatchedPage } from '../../ground/browser/browser.ts';
import { MadeUpSyncs } from './made-up-syncs.ts';

/** A window of the size of a phone. */
export const phone = { width: 390, height: 844 } as const;

/** A browser for all tests of a suite, and for each test a dashboard of syncs that are made up. */
export class MadeUpDashboard {
  #browser: TestBrowser | undefined;
  #source: MadeUpSyncs | undefined;
  #server: DashboardServer | undefined;

  constructor() {
    before(async () => {
      this.#browser = await TestBrowser.start();
    });
    afterEach(async () => {
      await this.#server?.[Symbol.asyncDispose]();
    });
    after(async () => {
      await this.#browser?.[Symbol.asyncDispose]();
    });
  }

  get browser(): TestBrowser {
    assert.ok(this.#browser);
    return this.#browser;
  }

  /** The syncs of the dashboard that was served last. */
  get source(): MadeUpSyncs {
    assert.ok(this.#source);
    return this.#source;
  }

  get server(): DashboardServer {
    assert.ok(this.#server);
    return this.#server;
  }

  /**
   * Starts a dashboard of so many syncs.
   * @param prepare - changes them before the dashboard sees them.
   */
  async serve(
    count: number,
    options: Partial<Pick<DashboardOptions, 'port' | 'token' | 'docsUrl'>> = {},
    prepare: () => void = () => undefined,
  ): Promise<void> {
    this.#source = new MadeUpSyncs(count);
    prepare();
    const logger = createLogger('test', 'fatal');
    const { source } = this;
    this.#server = await startDashboard({
      ...{ host: '127.0.0.1', port: 0, source, logger },
      ...options,
    });
  }

  /** Opens the list, or the place after the `#`, once its figures are there. */
  async open(hash = '', viewing: Viewing = {}): Promise<WatchedPage> {
    const watched = await this.browser.open(viewing);
    await watched.page.goto(`http://127.0.0.1:${this.server.port}/${hash}`);
    await watched.page.waitForSelector('.is-live');
    await watched.page.waitForSelector(hash === '' ? '#list' : '.figures');
    return watched;
  }

  /** What the list has from the server, as the API says it. */
  async snapshot(): Promise<Snapshot> {
    const answer = await fetch(`http://127.0.0.1:${this.server.port}/api/v1/syncs`);
    return (await answer.json()) as Snapshot;
  }

  /** Nothing in the console, and nothing asked of anybody else. */
  assertQuiet({ complaints, requests }: WatchedPage): void {
    assert.deepEqual(complaints, []);
    const hosts = new Set(requests.map(({ host }) => host));
    assert.deepEqual([...hosts], [`127.0.0.1:${this.server.port}`]);
  }

  /** The key of the first sync in a phase. */
  keyOf(phase: string): string {
    const found = this.source.summaries().find((sync) => sync.phase === phase);
    assert.ok(found);
    return found.key;
  }
}
