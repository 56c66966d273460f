import assert from 'node:assert/strict';
import { createLogger } from '../../service/logger.ts';
import { startHttpServer, type HttpServer } from '../../service/testing/http-server.ts';
import { FakeClock } from '../kube/testing/fake-clock.ts';
import type { MonitorTarget } from '../operand/monitor.ts';
import { SourceTopologies, type SourceView } from './source-topologies.ts';

const key = 'shop/orders';
const found = { topology: { kind: 'sharded', shards: ['a', 'b'] } };
const refused = { success: false, error: 'AuthenticationFailed: the user is not known' };
const shape = { kind: 'Sharded', shards: ['a', 'b'] };

describe('SourceTopologies', () => {
  let server: HttpServer;
  let target: MonitorTarget;
  let clock: FakeClock;
  let sources: SourceTopologies;
  let news: SourceView[];
  let logged: string[];
  let asked: number;
  /** What the syncer answers, with the status of the answer. */
  let answer: readonly [body: object, status?: number];

  before(async () => {
    server = await startHttpServer((_, response) => {
      asked += 1;
      const [body, status = 200] = answer;
      response.writeHead(status, { connection: 'close' }).end(JSON.stringify(body));
    });
    target = { process: 'one', baseUrl: server.url, token: 'token', trust: undefined };
  });

  after(async () => {
    await server[Symbol.asyncDispose]();
  });

  beforeEach(() => {
    clock = new FakeClock();
    [news, logged, asked, answer] = [[], [], 0, [found]];
    sources = new SourceTopologies({
      onChange: (changed) => news.push(sources.view(changed)),
      logger: createLogger('test', 'warn', (line) => logged.push(line)),
      clock,
    });
  });

  afterEach(async () => {
    await sources[Symbol.asyncDispose]();
    assert.equal(clock.pendingTimers, 0, 'no timer is left behind');
  });

  /** Lets it ask after a time, if it wants to. @returns whether it has asked. */
  async function watchAfter(ms: number, at = target): Promise<boolean> {
    await clock.advance(ms);
    const before = asked;
    sources.watch(key, at);
    // An answer over the network takes some turns of the event loop; nothing else is waited for.
    for (let turn = 0; turn < 200 && asked === before; turn++) await clock.advance(0);
    if (asked === before) return false;
    const last = sources.view(key);
    for (let turn = 0; turn < 200 && sources.view(key) === last; turn++) await clock.advance(0);
    return true;
  }

  it('asks again when an answer is a minute old, and has no news if it is the same', async () => {
    assert.equal(await watchAfter(0), true);
    assert.deepEqual(news, [{ kind: 'found', source: shape }]);
    assert.equal(await watchAfter(59_999), false);
    assert.equal(await watchAfter(1), true);
    assert.equal(news.length, 1);
  });

  it('asks soon after a failure, then less often, and as soon as at first after an answer', async () => {
    answer = [refused];
    assert.equal(await watchAfter(0), true);
    // Each pause is random, between a half and the whole of it.
    for (const pauseMs of [2_000, 4_000, 8_000]) {
      assert.equal(await watchAfter(pauseMs / 2 - 1), false, `${pauseMs}`);
      assert.equal(await watchAfter(pauseMs / 2 + 1), true, `${pauseMs}`);
    }
    answer = [found];
    assert.equal(await watchAfter(16_000), true);
    answer = [refused];
    assert.equal(await watchAfter(60_000), true);
    assert.equal(await watchAfter(2_000), true);
  });

  it('logs what the syncer has answered of a failure, and keeps what it has answered before', async () => {
    answer = [refused];
    await watchAfter(0);
    const [view] = news;
    assert.ok(view?.kind === 'failed');
    assert.equal(view.error.name, 'AuthenticationFailed');
    assert.equal(logged.length, 1);
    assert.match(logged[0] ?? '', /the source: the user is not known/);
    answer = [found];
    await watchAfter(2_000);
    answer = [refused];
    await watchAfter(60_000);
    assert.deepEqual(news.slice(1), [
      { kind: 'found', source: shape },
      { kind: 'found', source: shape, isOld: true },
    ]);
  });

  it('tells since when a process has been silent', async () => {
    answer = [{ nothing: 'known' }];
    const sinceMs = clock.wallMs();
    await watchAfter(0);
    answer = [{ nothing: 'else' }];
    await watchAfter(2_000);
    const view = sources.view(key);
    assert.ok(view.kind === 'silent');
    assert.equal(view.process, 'one');
    assert.equal(view.unreachable.sinceMs, sinceMs);
    assert.match(view.unreachable.description, /neither topology nor error/);
    assert.equal(news.length, 1);
    assert.deepEqual(logged, []);
  });

  it('knows nothing of a source when another process is asked, and begins with it', async () => {
    await watchAfter(0);
    sources.watch(key, { ...target, process: 'two' });
    assert.deepEqual(sources.view(key), { kind: 'unknown' });
    await clock.advance(0);
    assert.equal(await watchAfter(0, { ...target, process: 'three' }), true);
    sources.watch(key, undefined);
    assert.deepEqual(sources.view(key), { kind: 'unknown' });
  });

  it('takes a tool that does not know the question for one whose source is unknown', async () => {
    answer = [{}, 404];
    await watchAfter(0);
    assert.deepEqual(news, [{ kind: 'found', source: { kind: 'Unknown', shards: [] } }]);
  });

  it('tells a replica set from a sharded cluster', async () => {
    answer = [{ topology: { kind: 'replicaSet', shards: ['rs'] } }];
    await watchAfter(0);
    assert.deepEqual(news, [{ kind: 'found', source: { kind: 'ReplicaSet', shards: ['rs'] } }]);
  });

  it('asks once at a time', async () => {
    for (let count = 0; count < 3; count++) sources.watch(key, target);
    await watchAfter(0);
    assert.equal(asked, 1);
  });
});
