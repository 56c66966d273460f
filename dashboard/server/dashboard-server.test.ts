import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { createGunzip } from 'node:zlib';
import { createLogger } from '../../service/logger.ts';
import { SyncError } from '../../service/errors.ts';
import type { Snapshot, SyncReport } from '../api/messages.ts';
import type { SyncDetail, SyncSummary } from '../api/sync-view.ts';
import { EventLines, type ServerEvent } from '../view/event-lines.ts';
import { rowOf } from '../view/testing/rows.ts';
import { startDashboard, type DashboardServer } from './dashboard-server.ts';

const detail: SyncDetail = {
  ...{
    instances: [],
    collections: null,
    indexes: null,
    reconciliation: null,
    heldBack: null,
    verifications: [],
    conditions: [],
    findings: [],
  },
  ...{ warnings: [], events: null, catchUpSeconds: null },
};

function summaryOf(name: string, lagSeconds = 1): SyncSummary {
  const { bytesPerSecond: _, eventsPerSecond: __, ...summary } = rowOf(name, { lagSeconds });
  return summary;
}

describe('the server of the dashboard', () => {
  let summaries: SyncSummary[];
  let staleness: string | null;
  let server: DashboardServer;
  let address: string;
  const logger = createLogger('test', 'fatal');
  const source = {
    page: () => ({ scope: 'all namespaces', staleness }),
    summaries: () => summaries,
    look: (key: string) => ({
      read: async () =>
        await Promise.resolve(summaries.some((each) => each.key === key) ? detail : undefined),
    }),
  };

  beforeEach(async () => {
    summaries = [summaryOf('orders'), summaryOf('carts')];
    staleness = null;
    server = await startDashboard({ host: '127.0.0.1', port: 0, source, logger });
    address = `http://127.0.0.1:${server.port}`;
  });

  afterEach(async () => {
    await server[Symbol.asyncDispose]();
  });

  /** The events of a stream, one after the other. */
  async function* eventsOf(path: string): AsyncGenerator<ServerEvent, undefined> {
    const { body } = await fetch(`${address}${path}`);
    const lines = new EventLines();
    for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
      yield* lines.read(Buffer.from(chunk).toString());
    }
    return undefined;
  }

  async function next(events: AsyncGenerator<ServerEvent, undefined>) {
    const { value } = await events.next();
    return value && { name: value.name, data: JSON.parse(value.data) as unknown };
  }

  /** fetch cannot set the Host header, and adds headers that bypass caches. */
  async function statusFor(
    headers: Record<string, string>,
    path = '/api/v1/syncs',
  ): Promise<number | undefined> {
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    request(`${address}${path}`, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).end();
    return await promise;
  }

  it('sends all syncs, then only what has changed, come and gone', async () => {
    const events = eventsOf('/api/v1/syncs/stream');
    const first = await next(events);
    assert.equal(first?.name, 'snapshot');
    const { syncs } = first.data as { syncs: readonly SyncSummary[] };
    assert.deepEqual(
      syncs.map(({ key }) => key),
      ['shop/orders', 'shop/carts'],
    );
    summaries = [summaryOf('orders', 7), summaryOf('stock')];
    let changed: SyncSummary[] = [];
    let removed: string[] = [];
    // Where a second has passed since, the rates come to be known before that.
    while (!changed.some(({ lagSeconds }) => lagSeconds === 7)) {
      const change = await next(events);
      assert.equal(change?.name, 'changes');
      ({ changed, removed } = change.data as { changed: SyncSummary[]; removed: string[] });
    }
    assert.deepEqual(
      changed.map(({ key, lagSeconds }) => [key, lagSeconds]),
      [
        ['shop/orders', 7],
        ['shop/stock', 1],
      ],
    );
    assert.deepEqual(removed, ['shop/carts']);
    await events.return(undefined);
  });

  it('says on every open page that figures have become old', async () => {
    const streams = ['/api/v1/syncs/stream', '/api/v1/syncs/shop/orders/stream'].map(eventsOf);
    await Promise.all(streams.map(next));
    staleness = 'on standby';
    for (const events of streams) {
      let told: { page?: { staleness: string | null } } = {};
      while (told.page?.staleness == null) told = (await next(events))?.data as typeof told;
      assert.equal(told.page.staleness, 'on standby');
      await events.return(undefined);
    }
  });

  it('has the history of the lag and of the oplog, which is that of the source until the commit', async () => {
    const report = async (): Promise<SyncReport> => {
      await server.tellAll(AbortSignal.timeout(5_000));
      return (await (await fetch(`${address}/api/v1/syncs/shop/orders`)).json()) as SyncReport;
    };
    summaries = [{ ...summaryOf('orders', 7), oplogSeconds: 90 }];
    const { row, history } = await report();
    const [, , lag, , oplog] = history.at(-1) ?? [];
    assert.deepEqual([row.oplogSeconds, lag, oplog], [90, 7, 90]);
    for (const phase of ['Committing', 'Committed']) {
      summaries = [{ ...summaryOf('orders', 0), phase, oplogSeconds: 80 }];
      const after = await report();
      assert.deepEqual([after.row.oplogSeconds, after.history.at(-1)?.[4]], [null, null]);
    }
  });

  it('sends everything about one sync, then the parts that have changed, then that it is gone', async () => {
    const events = eventsOf('/api/v1/syncs/shop/orders/stream');
    const first = await next(events);
    assert.equal(first?.name, 'sync');
    const parts = Object.keys(first.data as object).sort();
    assert.deepEqual(parts, [...Object.keys(detail), 'history', 'page', 'row'].sort());
    summaries = [summaryOf('orders', 7)];
    let row: SyncSummary | undefined;
    while (row?.lagSeconds !== 7) {
      const change = await next(events);
      assert.deepEqual(
        Object.keys(change?.data as object).filter((part) => !['row', 'history'].includes(part)),
        [],
      );
      ({ row } = change?.data as { row?: SyncSummary });
    }
    summaries = [];
    let last = await next(events);
    while (last?.name === 'sync') last = await next(events);
    assert.equal(last?.name, 'gone');
    assert.equal(await next(events), undefined);
  });

  it('sends to many pages a tenth of it, compressed, and plain text to who does not take that', async () => {
    summaries = Array.from({ length: 500 }, (_, index) => summaryOf(`orders-${index}`));
    await server.tellAll(AbortSignal.timeout(5_000));
    const sizes = new Map<string, number>();
    for (const accepted of ['gzip, deflate, br', 'gzip;q=0', 'identity']) {
      const asking = request(`${address}/api/v1/syncs/stream`, {
        headers: { 'Accept-Encoding': accepted },
      }).end();
      const [answer] = (await once(asking, 'response')) as [IncomingMessage];
      const encoding = answer.headers['content-encoding'];
      assert.equal(encoding, accepted.startsWith('gzip,') ? 'gzip' : undefined);
      let size = 0;
      answer.on('data', (chunk: Buffer) => (size += chunk.length));
      let text = '';
      for await (const chunk of encoding === 'gzip' ? answer.pipe(createGunzip()) : answer) {
        text += String(chunk);
        if (text.includes('\n\n')) break;
      }
      assert.match(text, /^event: snapshot\n.*"shop\/orders-499".*\n\n/);
      sizes.set(accepted, size);
      asking.destroy();
    }
    const [compressed = 0, plain = 0] = sizes.values();
    assert.ok(compressed < plain / 10, `${compressed} of ${plain} bytes`);
  });

  it('answers with the same as JSON', async () => {
    const all = (await (await fetch(`${address}/api/v1/syncs`)).json()) as Snapshot;
    assert.equal(all.syncs.length, 2);
    const one = await fetch(`${address}/api/v1/syncs/shop/orders`);
    const report = (await one.json()) as SyncReport;
    assert.equal(report.row.key, 'shop/orders');
    const manifest = new URL('../../package.json', import.meta.url);
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
    assert.match(version, /^\d+\.\d+\.\d+/);
    for (const { page } of [all, report])
      assert.deepEqual(page, { ...source.page(), version, docsUrl: null });
    for (const path of ['shop/nothing', 'shop/nothing/stream', 'shop', '%', 'a/b/c/d']) {
      assert.equal((await fetch(`${address}/api/v1/syncs/${path}`)).status, 404, path);
    }
  });

  it('tells all pages at once what comes right before the end', async () => {
    const streams = ['/api/v1/syncs/stream', '/api/v1/syncs/shop/orders/stream'].map(eventsOf);
    await Promise.all(streams.map(next));
    summaries = [summaryOf('orders', 7)];
    await server.tellAll(AbortSignal.timeout(5_000));
    await server[Symbol.asyncDispose]();
    for (const events of streams) {
      const told: string[] = [];
      let event = await next(events);
      while (event !== undefined) {
        told.push(JSON.stringify(event.data));
        event = await next(events);
      }
      assert.match(told.join('\n'), /"lagSeconds":7/);
    }
  });

  it('ends all streams when it is closed', async () => {
    const streams = ['/api/v1/syncs/stream', '/api/v1/syncs/shop/orders/stream'].map(eventsOf);
    await Promise.all(streams.map(next));
    await server[Symbol.asyncDispose]();
    for (const events of streams) {
      let event = await next(events);
      while (event !== undefined) event = await next(events);
    }
  });

  it('has room for a limited number of pages', async () => {
    const stop = new AbortController();
    const answers = await Promise.all(
      Array.from({ length: 65 }, async () => {
        return await fetch(`${address}/api/v1/syncs/stream`, { signal: stop.signal });
      }),
    );
    const statuses = answers.map(({ status }) => status).sort((one, other) => one - other);
    stop.abort();
    assert.deepEqual(statuses, [...Array<number>(64).fill(200), 503]);
  });

  it('forgets a page that is gone, behind a body that nobody reads too', async () => {
    const head = `GET /api/v1/syncs/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n`;
    for (let page = 0; page < 64; page++) {
      const socket = connect({ port: server.port, host: '127.0.0.1' });
      socket.write(head);
      socket.write(Buffer.alloc(500_000));
      const [answer] = (await once(socket, 'data')) as [Buffer];
      assert.match(answer.toString(), /^HTTP\/1\.1 200 /);
      socket.resetAndDestroy();
    }
    // The resets have come before what this asks. What is sent to the pages every second would find out, too.
    assert.equal(await statusFor({}, '/'), 200);
    assert.equal(await statusFor({}, '/api/v1/syncs/stream'), 200);
  });

  it('serves the page, allows it nothing but itself, and serves no other file', async () => {
    const page = await fetch(`${address}/`);
    assert.match(page.headers.get('Content-Security-Policy') ?? '', /default-src 'none'/);
    const text = await page.text();
    const paths = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? '');
    assert.ok(paths.length > 20);
    for (const path of paths) {
      assert.equal((await fetch(`${address}/${path}`)).status, 200, path);
    }
    const etag = page.headers.get('ETag') ?? '';
    assert.equal(await statusFor({ 'If-None-Match': etag }, '/'), 304);
    for (const path of [
      '/package.json',
      '/assets/service/errors.ts',
      '/assets/%2e%2e/package.json',
    ]) {
      assert.equal((await fetch(`${address}${path}`)).status, 404, path);
    }
  });

  it('has no page of another site read an answer, frame it, or take it for what it is not', async () => {
    for (const path of ['/', '/api/v1/syncs', '/api/v1/syncs/stream', '/nothing']) {
      const stop = new AbortController();
      const { headers } = await fetch(`${address}${path}`, { signal: stop.signal });
      stop.abort();
      assert.equal(headers.get('Access-Control-Allow-Origin'), null);
      assert.equal(headers.get('Cross-Origin-Resource-Policy'), 'same-origin', path);
      assert.equal(headers.get('Cross-Origin-Opener-Policy'), 'same-origin', path);
      assert.equal(headers.get('X-Content-Type-Options'), 'nosniff', path);
      assert.match(headers.get('Content-Security-Policy') ?? '', /frame-ancestors 'none'/, path);
    }
  });

  it('takes an address of the documentation that has a place for the page, and nothing else', async () => {
    const start = async (docsUrl: string): Promise<DashboardServer> =>
      await startDashboard({ host: '127.0.0.1', port: 0, source, logger, docsUrl });
    const docsUrl = 'https://docs.example.dev/{page}.html';
    await using linking = await start(docsUrl);
    const answer = await fetch(`http://127.0.0.1:${linking.port}/api/v1/syncs`);
    assert.equal(((await answer.json()) as Snapshot).page.docsUrl, docsUrl);
    for (const wrong of [
      'https://docs.example.dev/',
      'javascript:alert(1)//{page}',
      'https://docs.example.dev/#{page}',
      'https://docs.example.dev/$(HOME)/{page}',
    ])
      await assert.rejects(
        start(wrong),
        (error) => error instanceof SyncError && error.name === 'InvalidOption',
        wrong,
      );
  });

  it('takes nothing but GET', async () => {
    for (const path of ['/api/v1/syncs', '/api/v1/syncs/shop/orders', '/'])
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']) {
        const answer = await fetch(`${address}${path}`, { method });
        assert.equal(answer.status, 405, method);
        assert.equal(answer.headers.get('Allow'), 'GET');
      }
  });

  it('without a token answers to names of this machine alone', async () => {
    for (const host of ['localhost:8081', '127.0.0.1', '[::1]:8081']) {
      assert.equal(await statusFor({ host }), 200, host);
    }
    for (const host of ['attacker.example:8081', 'localhost.attacker.example']) {
      assert.equal(await statusFor({ host }), 421, host);
    }
    await assert.rejects(
      startDashboard({ host: '0.0.0.0', port: 0, source, logger }),
      (error) => error instanceof SyncError && error.name === 'InvalidOption',
    );
  });

  it('with a token asks for it, whatever the name', async () => {
    await using guarded = await startDashboard({
      ...{ host: '127.0.0.1', port: 0, source, logger },
      token: 'open sesame',
    });
    const url = `http://127.0.0.1:${guarded.port}/api/v1/syncs`;
    const statusWith = async (headers: Record<string, string>, path = ''): Promise<number> =>
      (await fetch(`${url}${path}`, { headers })).status;
    assert.equal(await statusWith({}), 401);
    assert.equal(await statusWith({}, '/stream'), 401);
    assert.equal(await statusWith({ Authorization: 'Bearer open sesamE' }), 401);
    assert.equal(await statusWith({ Authorization: 'Bearer open sesame' }), 200);
    assert.equal((await fetch(`http://127.0.0.1:${guarded.port}/`)).status, 200);
  });
});
