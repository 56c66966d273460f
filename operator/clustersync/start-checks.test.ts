import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createLogger } from '../../service/logger.ts';
import { startHttpServer, type HttpServer } from '../../service/testing/http-server.ts';
import { isSettled, StartChecks, type CheckRequest, type CheckView } from './start-checks.ts';

const key = 'shop/orders';

interface Answer {
  readonly status?: number;
  readonly body: object;
}

const passed: Answer = { body: { success: true, canStart: true, findings: [] } };

function failed(error: string): Answer {
  return { body: { success: false, error, errorDescription: 'it is so' } };
}

describe('StartChecks', () => {
  let server: HttpServer;
  let answer: Answer | 'none' = passed;
  let asked = 0;
  let checks: StartChecks;
  let changes = 0;

  before(async () => {
    server = await startHttpServer((request, response) => {
      asked++;
      request.resume();
      if (answer === 'none') return;
      response.writeHead(answer.status ?? 200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(answer.body));
    });
  });

  after(async () => {
    await server[Symbol.asyncDispose]();
  });

  let changed = Promise.withResolvers<undefined>();

  beforeEach(() => {
    [answer, asked, changes] = [passed, 0, 0];
    checks = new StartChecks({
      logger: createLogger('test', 'fatal'),
      onChange: () => {
        changes++;
        changed.resolve(undefined);
      },
    });
  });

  afterEach(async () => {
    await checks[Symbol.asyncDispose]();
  });

  function request(inputsHash: string, change: Partial<CheckRequest> = {}): CheckRequest {
    return {
      target: { process: 'pod/1', baseUrl: server.url, token: undefined, trust: undefined },
      body: { source: 'cluster0', destination: 'cluster1' },
      ...{ inputsHash, deadlineMs: 10_000, notBeforeMs: 0 },
      ...change,
    };
  }

  /** What is known once a question was answered. */
  async function viewAfter(one: CheckRequest): Promise<CheckView> {
    changed = Promise.withResolvers<undefined>();
    checks.watch(key, one);
    await changed.promise;
    return checks.view(key);
  }

  async function untilAsked(count: number): Promise<void> {
    while (asked < count) await once(server.server, 'request');
  }

  it('ask again for another question, and if the answer has become too old', async () => {
    const view = await viewAfter(request('a'));
    assert.ok(view.kind === 'found');
    assert.ok(isSettled(view, request('a', { notBeforeMs: view.askedMs })));
    await viewAfter(request('a', { notBeforeMs: view.askedMs + 1 }));
    await viewAfter(request('b'));
    assert.deepEqual([asked, changes], [3, 3]);
  });

  it('keep the last answer while they ask for another one, and forget it when told to', async () => {
    const view = await viewAfter(request('a'));
    answer = 'none';
    checks.watch(key, request('b'));
    await untilAsked(2);
    assert.deepEqual(checks.view(key), view);
    checks.forget(key);
    assert.deepEqual(checks.view(key), { kind: 'unknown' });
  });

  it('stop asking when nobody wants to know, and ask when somebody does again', async () => {
    answer = 'none';
    checks.watch(key, request('a'));
    await untilAsked(1);
    checks.watch(key, undefined);
    answer = passed;
    const view = await viewAfter(request('a'));
    assert.equal(view.kind, 'found');
    assert.deepEqual([asked, changes], [2, 1]);
  });

  it('take no answer for one that says it can start and has a blocker', async () => {
    const finding = { name: 'X', message: 'y', action: '' };
    const canStart = async (isOffered: boolean, severity: string): Promise<unknown> => {
      const findings = [{ ...finding, severity }];
      answer = { body: { success: true, canStart: isOffered, findings } };
      const view = await viewAfter(request(`${severity} ${isOffered}`));
      return view.kind === 'found' && view.canStart;
    };
    assert.equal(await canStart(true, 'warning'), true);
    assert.equal(await canStart(true, 'blocker'), false);
    assert.equal(await canStart(false, 'warning'), false);
  });

  it('take an error for a blocker if a start would fail with it, too', async () => {
    answer = failed('DestinationNotEmpty');
    const view = await viewAfter(request('a'));
    assert.ok(view.kind === 'found');
    assert.equal(view.canStart, false);
    assert.deepEqual(
      view.findings.map(({ severity, name }) => `${severity} ${name}`),
      ['Blocker DestinationNotEmpty'],
    );
    // It is about the check: the syncer has a sync, or is busy.
    for (const error of ['InvalidStateTransition', 'ClusterUnreachable']) {
      answer = failed(error);
      const { kind } = await viewAfter(request(error));
      assert.equal(kind, 'failed');
    }
  });

  it('never ask a process again that has no checks, whatever the question', async () => {
    answer = { status: 404, body: {} };
    const view = await viewAfter(request('a'));
    assert.equal(view.kind, 'unsupported');
    const { target } = request('b');
    const other = { ...target, process: 'pod/2' };
    assert.equal((await viewAfter(request('b', { target: other }))).kind, 'unsupported');
    assert.ok(isSettled(checks.view(key), request('c', { target: other, notBeforeMs: Infinity })));
    assert.equal(asked, 2);
  });

  it('say that there was no answer in time, or none that can be read', async () => {
    answer = { body: { success: true } };
    const unread = await viewAfter(request('a'));
    assert.ok(unread.kind === 'failed');
    assert.equal(unread.error.description, 'the answer has neither findings nor an error');
    answer = 'none';
    const late = await viewAfter(request('b', { deadlineMs: 200 }));
    assert.ok(late.kind === 'failed');
    assert.equal(late.error.description, 'no answer within 200 ms');
  });
});
