import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { startDashboard, type DashboardServer } from '../../dashboard/server/dashboard-server.ts';
import { genericErrorBody, startHttpServer, type HttpServer } from '../../service/http-server.ts';
import { createLogger } from '../../service/logger.ts';
import { TestBrowser } from '../ground/browser/browser.ts';
import { MadeUpSyncs } from '../integration/dashboard/made-up-syncs.ts';

const evil = 'evil.example';
const rebound = 'rebound.example';

describe('a hostile page, in Chromium', () => {
  const logger = createLogger('test', 'fatal');
  let browser: TestBrowser;
  let api: HttpServer;
  let dashboard: DashboardServer;
  let site: Server;
  let html = '';
  let commits = 0;
  /** What browsers have asked for, so that it is seen that an attack has come. */
  const asked: string[] = [];

  before(async () => {
    browser = await TestBrowser.start([evil, rebound]);
    api = await startHttpServer({
      ...{ host: '127.0.0.1', port: 0, logger, metrics: new Registry() },
      isReady: () => true,
      routes: [
        {
          method: 'POST',
          path: '/api/v1/commit',
          handle: () => {
            commits += 1;
            return { success: true };
          },
          errorBody: (error) => {
            asked.push(error.name);
            return genericErrorBody(error);
          },
        },
      ],
    });
    const source = new MadeUpSyncs(3);
    dashboard = await startDashboard({ host: '127.0.0.1', port: 0, source, logger });
    site = createServer((_request, response) => {
      response.setHeader('Content-Type', 'text/html').end(html);
    });
    site.listen(0, '127.0.0.1');
    await once(site, 'listening');
  });

  beforeEach(() => {
    asked.length = 0;
    commits = 0;
  });

  after(async () => {
    await browser[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
    await dashboard[Symbol.asyncDispose]();
    const closed = once(site, 'close');
    site.close();
    site.closeAllConnections();
    await closed;
  });

  const siteUrl = (): string => `http://${evil}:${(site.address() as AddressInfo).port}/`;

  it('sends no command from another site, by a form or by a script', async () => {
    const url = `http://127.0.0.1:${api.port}/api/v1/commit`;
    html = `<form method="post" enctype="text/plain" action="${url}"><input name='{"a":"' value='"}'></form>`;
    await using watched = await browser.open();
    await watched.page.goto(siteUrl());
    const outcome = await watched.page.evaluate<string>(
      `fetch(${JSON.stringify(url)}, { method: 'POST', mode: 'no-cors', body: '{}' })
        .then((response) => response.type, (error) => error.name)`,
    );
    assert.ok(['opaque', 'TypeError'].includes(outcome), outcome);
    await Promise.all([
      watched.page.waitForURL(url),
      watched.page.evaluate('document.forms[0].submit()'),
    ]);
    assert.ok(asked.length > 0);
    for (const name of asked) assert.match(name, /^(?:CrossOriginRequest|UnsupportedContentType)$/);
    assert.equal(commits, 0);
  });

  it('sends no command under a name of its own that was made to mean this machine', async () => {
    await using watched = await browser.open();
    await watched.page.goto(`http://${rebound}:${api.port}/`);
    const status = await watched.page.evaluate<number>(
      `fetch('/api/v1/commit', { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json' } })
        .then((response) => response.status)`,
    );
    assert.equal(status, 421);
    // Chromium asks again on another connection where it is answered so.
    assert.deepEqual([...new Set(asked)], ['UnknownHost']);
    assert.equal(commits, 0);
  });

  it('sees nothing of the dashboard under such a name', async () => {
    await using watched = await browser.open();
    await watched.page.goto(`http://${rebound}:${dashboard.port}/`);
    const [status, text] = await watched.page.evaluate<[number, string]>(
      `fetch('/api/v1/syncs').then(async (response) => [response.status, await response.text()])`,
    );
    assert.equal(status, 421);
    assert.match(text, /UnknownHost/);
  });

  it('has no frame of the dashboard', async () => {
    html = `<iframe src="http://127.0.0.1:${dashboard.port}/"></iframe>`;
    await using watched = await browser.open();
    await watched.page.goto(siteUrl());
    await watched.page.waitForLoadState('networkidle');
    const [, frame] = watched.page.frames();
    assert.ok(frame);
    assert.equal(await frame.locator('#list').count(), 0);
    assert.match(watched.complaints.join('\n'), /frame-ancestors|X-Frame-Options|Framing/i);
  });
});
