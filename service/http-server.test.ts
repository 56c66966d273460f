import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { Registry } from 'prom-client';
import { hashOfToken } from './api-token.ts';
import { SyncError } from './errors.ts';
import {
  genericErrorBody,
  probePaths,
  progressErrorBody,
  startHttpServer,
  type HttpServer,
} from './http-server.ts';
import { maxBodyBytes } from './json-body.ts';
import { logOnce } from './log-once.ts';
import { createLogger } from './logger.ts';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

describe('startHttpServer', () => {
  let server: HttpServer;
  let protectedServer: HttpServer;
  let isAlive = true;
  const lines: string[] = [];
  const logger = createLogger('test', 'error', (line) => lines.push(line));
  const failure = new SyncError('InternalError', 'the work has stopped');
  const base = {
    host: '127.0.0.1',
    port: 0,
    logger,
    metrics: new Registry(),
    isReady: () => true,
    routes: [
      {
        method: 'POST',
        path: '/api/v1/echo',
        handle: (body: unknown) => ({ got: body }),
        errorBody: genericErrorBody,
      },
      {
        method: 'POST',
        path: '/api/v1/query',
        handle: (_body: unknown, query: URLSearchParams) => ({ got: [...query] }),
        errorBody: genericErrorBody,
      },
      {
        method: 'POST',
        path: '/api/v1/fail',
        handle: () => {
          throw new SyncError('CannotCommitYet', 'the copy is not complete');
        },
        errorBody: genericErrorBody,
      },
      {
        method: 'POST',
        path: '/api/v1/stopped',
        handle: () => {
          throw failure;
        },
        errorBody: genericErrorBody,
      },
      {
        method: 'POST',
        path: '/api/v1/later',
        handle: () => {
          throw new SyncError('NotStarted', 'the stored state has not been read yet');
        },
        errorBody: genericErrorBody,
      },
      {
        method: 'GET',
        path: '/api/v1/progress',
        handle: () => {
          throw new Error('at mongodb://user:secret@host/');
        },
        errorBody: progressErrorBody,
      },
    ],
  } as const;

  before(async () => {
    server = await startHttpServer(base);
    protectedServer = await startHttpServer({
      ...base,
      apiTokenHash: hashOfToken('token'),
      isReady: () => false,
      isAlive: () => isAlive,
    });
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await protectedServer[Symbol.asyncDispose]();
  });

  /** Sends requests that fetch() would refuse to send, or would correct. */
  const sendRaw = async (
    path: string,
    host: string,
    body: string,
    { port } = server,
  ): Promise<{ readonly status: number | undefined; readonly text: string }> => {
    const headers = {
      host,
      authorization: 'Bearer token',
      'content-length': Buffer.byteLength(body),
    };
    const sent = request({ port, host: '127.0.0.1', method: 'POST', path, headers }).end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return { status: response.statusCode, text: await textOf(response) };
  };

  const call = async (path: string, init: RequestInit = {}, { port } = server): Promise<Answer> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    return {
      status: response.status,
      headers: response.headers,
      body: isJson ? JSON.parse(text) : text,
    };
  };
  const post = async (
    path: string,
    body: string,
    headers: Record<string, string> = {},
  ): Promise<Answer> =>
    await call(path, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    });
  const nameOf = ({ body }: Answer): unknown => (body as { error?: unknown }).error;

  it('passes the parsed body on and answers with JSON', async () => {
    const answer = await post('/api/v1/echo', '{"a":1}');
    assert.deepEqual([answer.status, answer.body], [200, { got: { a: 1 } }]);
  });

  it('keeps a connection for longer than a client waits that asks every minute', async () => {
    const { headers } = await post('/api/v1/echo', '{}');
    const [, seconds] = /^timeout=(\d+)$/.exec(headers.get('keep-alive') ?? '') ?? [];
    assert.ok(Number(seconds) > 60, headers.get('keep-alive') ?? 'not kept');
  });

  it('accepts a body as curl sends it by default', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    assert.equal((await post('/api/v1/echo', '{ }', headers)).status, 200);
  });

  const refused: [string, () => Promise<Answer>, number, string][] = [
    ['no JSON', async () => await post('/api/v1/echo', '{'), 400, 'InvalidJSON'],
    ['an empty body', async () => await post('/api/v1/echo', ''), 400, 'InvalidJSON'],
    ['JSON that is no object', async () => await post('/api/v1/echo', '[]'), 400, 'InvalidJSON'],
    [
      'another content type',
      async () => await post('/api/v1/echo', '{}', { 'content-type': 'text/plain' }),
      415,
      'UnsupportedContentType',
    ],
    [
      'a body over 1 MiB',
      async () => await post('/api/v1/echo', JSON.stringify('x'.repeat(maxBodyBytes))),
      413,
      'BodyTooLarge',
    ],
    ['an unknown path', async () => await call('/api/v1/nothing'), 404, 'NotFound'],
    ['a wrong method', async () => await call('/api/v1/echo'), 405, 'MethodNotAllowed'],
    [
      'a page of another site',
      async () => await post('/api/v1/echo', '{}', { origin: 'http://evil.example' }),
      403,
      'CrossOriginRequest',
    ],
    [
      'a page of another port',
      async () => await post('/api/v1/echo', '{}', { origin: 'http://127.0.0.1:1' }),
      403,
      'CrossOriginRequest',
    ],
    [
      'a page without an origin',
      async () => await post('/api/v1/echo', '{}', { origin: 'null' }),
      403,
      'CrossOriginRequest',
    ],
    [
      'an error of the handler',
      async () => await post('/api/v1/fail', '{}'),
      409,
      'CannotCommitYet',
    ],
  ];
  for (const [what, send, status, name] of refused) {
    it(`answers ${what} with ${status} ${name}, and keeps serving`, async () => {
      const answer = await send();
      assert.deepEqual([answer.status, nameOf(answer)], [status, name]);
      assert.equal((answer.body as { success?: unknown }).success, false);
      assert.equal((await post('/api/v1/echo', '{}')).status, 200);
    });
  }

  interface Hostile {
    readonly what: string;
    readonly target?: string;
    readonly host?: string;
    readonly body?: string;
    readonly answered: readonly [number, string];
  }

  const deep = 100_000;
  const own = 'http://127.0.0.1/api/v1/echo';
  const hostile: readonly Hostile[] = [
    {
      what: 'JSON of 100,000 levels',
      body: `{"a":${'['.repeat(deep)}${']'.repeat(deep)}}`,
      answered: [400, 'InvalidJSON'],
    },
    {
      what: 'JSON of 65 levels',
      body: `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`,
      answered: [400, 'InvalidJSON'],
    },
    { what: 'an absolute URI', target: own, answered: [400, 'InvalidRequestTarget'] },
    { what: 'a URI that is none', target: 'http://[', answered: [400, 'InvalidRequestTarget'] },
    { what: 'an asterisk', target: '*', answered: [400, 'InvalidRequestTarget'] },
    {
      what: 'a path that looks like a host',
      target: '//[/api/v1/echo',
      answered: [404, 'NotFound'],
    },
    {
      what: 'a name that was made to mean this machine',
      host: 'rebind.example',
      answered: [421, 'UnknownHost'],
    },
    {
      what: 'such a name with a port',
      host: 'localhost.rebind.example:1',
      answered: [421, 'UnknownHost'],
    },
    {
      what: 'a name that ends as one of this machine',
      host: 'rebind-localhost',
      answered: [421, 'UnknownHost'],
    },
    { what: 'a host that is none', host: '[', answered: [421, 'UnknownHost'] },
  ];
  for (const {
    what,
    target = '/api/v1/echo',
    host = '127.0.0.1',
    body = '{}',
    answered,
  } of hostile) {
    it(`answers ${what} with ${answered.join(' ')}`, async () => {
      const { status, text } = await sendRaw(target, host, body);
      const { error, errorDescription } = JSON.parse(text) as Record<string, string>;
      assert.deepEqual([status, error], answered);
      assert.ok((errorDescription ?? '').length < 200);
    });
  }

  it('accepts names of this machine, and, with a token, any name', async () => {
    for (const host of [
      'localhost',
      'LocalHost:27182',
      '127.0.0.1:1',
      '127.9.9.9',
      '[::1]:27182',
    ]) {
      assert.equal((await sendRaw('/api/v1/echo', host, '{}')).status, 200, host);
    }
    const { status } = await sendRaw('/api/v1/echo', 'syncer.example', '{}', protectedServer);
    assert.equal(status, 200);
  });

  it('accepts requests of its own page', async () => {
    const { port } = server;
    const headers = { origin: `http://127.0.0.1:${port}` };
    assert.equal((await post('/api/v1/echo', '{}', headers)).status, 200);
  });

  it('reads the query if the host is invalid and the token is right', async () => {
    const { status } = await sendRaw('/api/v1/query?a=1', '[', '{}', protectedServer);
    assert.equal(status, 200);
  });

  it('accepts JSON of 64 levels', async () => {
    const body = `${'{"a":'.repeat(64)}1${'}'.repeat(64)}`;
    assert.equal((await sendRaw('/api/v1/echo', '127.0.0.1', body)).status, 200);
  });

  it('does not count brackets in strings as levels', async () => {
    const body = JSON.stringify({ a: `"${'['.repeat(100)}\\` });
    assert.equal((await sendRaw('/api/v1/echo', '127.0.0.1', body)).status, 200);
  });

  it('does not repeat a long path', async () => {
    const answer = await sendRaw(`/${'x'.repeat(10_000)}`, '127.0.0.1', '{}');
    assert.equal(answer.status, 404);
    assert.ok(answer.text.length < 300);
  });

  it('stops reading a chunked body at 1 MiB', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = request(
        { port: server.port, host: '127.0.0.1', method: 'POST', path: '/api/v1/echo' },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      sent.on('error', reject);
      sent.write(Buffer.alloc(maxBodyBytes + 1, ' '));
    });
    assert.equal(status, 413);
  });

  it('names the methods that a path accepts', async () => {
    assert.equal((await call('/api/v1/echo')).headers.get('allow'), 'POST');
  });

  for (const path of probePaths) {
    it(`takes GET and HEAD alone at ${path}, and says so, with a token and without`, async () => {
      const methods = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
      for (const { port } of [server, protectedServer]) {
        for (const method of methods) {
          const sent = request({ port, host: '127.0.0.1', method, path }).end();
          const [response] = (await once(sent, 'response')) as [IncomingMessage];
          const { error } = JSON.parse(await textOf(response)) as { readonly error: string };
          assert.deepEqual(
            [response.statusCode, response.headers.allow, error],
            [405, 'GET, HEAD', 'MethodNotAllowed'],
            method,
          );
        }
        const { status } = await call(path, { method: 'HEAD' }, server);
        assert.equal(status, 200);
      }
    });
  }

  it('shows an error of progress as one text, redacted', async () => {
    const answer = await call('/api/v1/progress');
    assert.equal(answer.status, 500);
    assert.deepEqual(answer.body, { error: 'InternalError: at mongodb://<credentials>@host/' });
  });

  it('logs an error once, however often it is the answer, and a new error again', async () => {
    lines.length = 0;
    for (let times = 0; times < 3; times++) {
      assert.equal((await post('/api/v1/stopped', '{}')).status, 500);
    }
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /the work has stopped/);
    await call('/api/v1/progress');
    await call('/api/v1/progress');
    assert.equal(lines.length, 3);
  });

  it('does not log an error again that was logged before it became the answer', async () => {
    lines.length = 0;
    const { routes: _routes, ...others } = base;
    const error = new SyncError('InternalError', 'it cannot work');
    const handle = () => {
      throw error;
    };
    const routes = [
      { method: 'GET', path: '/api/v1/progress', handle, errorBody: progressErrorBody },
    ] as const;
    await using other = await startHttpServer({ ...others, routes });
    logOnce(logger, error, { err: error }, 'the work has ended');
    assert.equal((await call('/api/v1/progress', {}, other)).status, 500);
    assert.equal(lines.length, 1);
  });

  it('says when to retry after a temporary error', async () => {
    const { status, headers } = await post('/api/v1/later', '{}');
    assert.equal(status, 503);
    assert.ok(Number(headers.get('retry-after')) > 0);
    assert.equal((await post('/api/v1/fail', '{}')).headers.get('retry-after'), null);
  });

  it('requires the token on routes only', async () => {
    const path = '/api/v1/echo';
    const init = { method: 'POST', body: '{}' };
    const json = { 'content-type': 'application/json' };
    const progress = '/api/v1/progress';
    assert.equal((await call(path, { ...init, headers: json }, protectedServer)).status, 401);
    assert.equal((await call(progress, {}, protectedServer)).status, 401);
    for (const authorization of [
      'Bearer nekot',
      'Bearer',
      'Basic token',
      'Digest token',
      'token',
    ]) {
      const headers = { ...json, authorization };
      assert.equal((await call(path, { ...init, headers }, protectedServer)).status, 401);
      assert.equal((await call(progress, { headers }, protectedServer)).status, 401);
    }
    const right = { ...init, headers: { ...json, authorization: 'Bearer token' } };
    assert.equal((await call(path, right, protectedServer)).status, 200);
    assert.equal((await call('/healthz', {}, protectedServer)).status, 200);
    assert.equal((await call('/metrics', {}, protectedServer)).status, 200);
  });

  it('is ready only when it says so', async () => {
    assert.equal((await call('/readyz')).status, 200);
    assert.equal((await call('/readyz', {}, protectedServer)).status, 503);
  });

  it('is alive until it says that it is not', async () => {
    assert.equal((await call('/healthz')).status, 200);
    assert.equal((await call('/healthz', {}, protectedServer)).status, 200);
    isAlive = false;
    const { status, body } = await call('/healthz', {}, protectedServer);
    assert.deepEqual({ status, body }, { status: 503, body: 'not alive\n' });
    isAlive = true;
  });
});
