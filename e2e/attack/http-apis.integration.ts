import assert from 'node:assert/strict';
import {
  startDashboard,
  type DashboardServer,
  dataRoutes,
} from '../../dashboard/server/dashboard-server.ts';
import {
  apiPrograms,
  openApiDocument,
  type ApiProgram,
  type OpenApiDocument,
} from '../../docs/openapi/documents.ts';
import { probePaths } from '../../service/http-server.ts';
import { createLogger } from '../../service/logger.ts';
import { requireDocumented } from '../ground/api-document.ts';
import { until } from '../ground/until.ts';
import { VerifierProcess } from '../ground/verifier-process.ts';
import { SeededRandom } from '../ground/workload/seeded-random.ts';
import { MadeUpSyncs } from '../integration/dashboard/made-up-syncs.ts';
import { useClusterPair } from '../integration/syncer/cluster-pair.ts';
import { isLongAttack } from './attack-length.ts';
import { bytesOf, fuzzedLook, fuzzedRequest, type FuzzedRequest } from './fuzzed-requests.ts';
import { sendBytes, type RawAnswer } from './raw-http.ts';

const requests = Number(process.env['REQUESTS'] ?? (isLongAttack ? 3_000 : 200));
const seeds = Number(process.env['SEEDS'] ?? (isLongAttack ? 5 : 1));
const firstSeed = Number(process.env['SEED'] ?? 1);

const token = 'c0ffee'.repeat(8);

/** What Node answers by itself, without a body, to what it takes for no HTTP. */
const protocolStatuses = new Set([400, 408, 413, 417, 431]);

interface Target {
  readonly program: ApiProgram;
  readonly token: string | undefined;
  readonly url: string;
}

describe('a client that sends whatever it likes to', () => {
  const pair = useClusterPair();
  const stack = new AsyncDisposableStack();
  const targets: Target[] = [];

  before(async () => {
    await pair.source.client.db('shop').collection('items').insertOne({ n: 1 });
    const uris = {
      srcURI: pair.source.set.uri('syncer'),
      destURI: pair.destination.set.uri('syncer'),
    };
    for (const apiToken of [undefined, token]) {
      const options = { logLevel: 'info', ...(apiToken === undefined ? {} : { apiToken }) };
      const syncer = stack.use(await pair.syncer({ options }));
      const verification = apiToken === undefined ? 'open' : 'guarded';
      const verifier = stack.use(
        await VerifierProcess.start({ uris, options: { ...options, verification } }),
      );
      targets.push({ program: 'syncer', token: apiToken, url: syncer.url });
      targets.push({ program: 'verifier', token: apiToken, url: verifier.url });
    }
    for (const { url } of targets)
      await until(`${url} is ready`, async () => (await fetch(`${url}/readyz`)).ok);
  });

  after(async () => {
    await stack.disposeAsync();
  });

  for (const program of apiPrograms) {
    for (const kind of ['without a token', 'with a token']) {
      it(`a ${program} ${kind} is answered as documented, and a good request after it`, async () => {
        const target = targets.find(
          (each) =>
            each.program === program && (each.token === undefined) === (kind === 'without a token'),
        );
        assert.ok(target);
        const document = await openApiDocument(program);
        const reached = new Reached(document);
        for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
          const random = new SeededRandom(seed);
          for (let count = 0; count < requests; count++) {
            const request = fuzzedRequest(document, target.token, random);
            try {
              reached.count(request, await attack(target, request));
            } catch (error) {
              throw new Error(`request ${count} of SEED=${seed}: ${shown(request)}`, {
                cause: error,
              });
            }
          }
        }
        reached.requireAll(target.token === undefined ? [200, 400, 421] : [200, 400, 401]);
      });
    }
  }
});

/** Which operations of a document were answered, and with what: what was refused at the door tells nothing of them. */
class Reached {
  readonly #answers = new Map<string, Map<number, number>>();

  constructor({ paths }: OpenApiDocument) {
    for (const [path, methods] of Object.entries(paths))
      for (const method of Object.keys(methods))
        this.#answers.set(`${method.toUpperCase()} ${path}`, new Map());
  }

  count({ method, target }: FuzzedRequest, status: number): void {
    const answers = this.#answers.get(`${method} ${target.replace(/\?.*/s, '')}`);
    answers?.set(status, (answers.get(status) ?? 0) + 1);
  }

  /** @param statuses - that have to be among all answers. */
  requireAll(statuses: readonly number[]): void {
    const lines = Array.from(this.#answers, ([operation, answers]) => {
      const counts = [...answers].sort(([left], [right]) => left - right);
      return `${operation}: ${counts.map(([status, count]) => `${status} x ${count}`).join(', ')}`;
    });
    if (isLongAttack) console.log(lines.join('\n'));
    const known = new Set([...this.#answers.values()].flatMap((answers) => [...answers.keys()]));
    for (const status of statuses) assert.ok(known.has(status), `${status}\n${lines.join('\n')}`);
    for (const answers of this.#answers.values())
      // Refused for what it asks, or taken; not only for a token, a name or a page that is wrong.
      assert.ok(
        [...answers.keys()].some((status) => ![401, 403, 413, 415, 421].includes(status)),
        lines.join('\n'),
      );
  }
}

describe('a client that sends the dashboard whatever it likes to', () => {
  const source = new MadeUpSyncs(3);
  const logger = createLogger('test', 'fatal');
  /** Would run if it ever came back as a page; stands in what is asked for. */
  const mark = 'hostile-mark';
  const markup = `%3Cscript%3E${mark}%3C%2Fscript%3E`;
  const names = [...source.summaries().flatMap((sync) => [sync.namespace, sync.name]), markup];
  const paths = [
    ...dataRoutes.map(({ path }) => path),
    ...['/', '/assets/{file}', '/assets/dashboard/page/{file}', '/api/v1/{what}', '/{what}'],
  ];

  for (const kind of ['without a token', 'with a token']) {
    it(`${kind} gets an answer that holds nothing of what it sent, and a good request after it`, async () => {
      const apiToken = kind === 'with a token' ? token : undefined;
      await using dashboard = await startDashboard({
        ...{ host: '127.0.0.1', port: 0, source, logger, token: apiToken },
      });
      const headers = apiToken === undefined ? {} : { Authorization: `Bearer ${apiToken}` };
      const statuses = new Map<number, number>();
      for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
        const random = new SeededRandom(seed);
        for (let count = 0; count < 2 * requests; count++) {
          const request = withMark(fuzzedLook(paths, names, apiToken, random), mark);
          try {
            const status = await look(dashboard, request, mark);
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
            const good = await fetch(`http://127.0.0.1:${dashboard.port}/api/v1/syncs`, {
              headers,
            });
            const { syncs } = (await good.json()) as { readonly syncs: readonly object[] };
            assert.equal(syncs.length, 3);
          } catch (error) {
            throw new Error(`request ${count} of SEED=${seed}: ${shown(request)}`, {
              cause: error,
            });
          }
        }
      }
      // So that it is seen that not all was refused at the door.
      assert.ok((statuses.get(200) ?? 0) > requests / 10, JSON.stringify([...statuses]));
      assert.ok((statuses.get(404) ?? 0) > requests / 10, JSON.stringify([...statuses]));
    });
  }
});

/** The same, with a mark in the query, a header and the body, too. */
function withMark({ target, headers, body, ...rest }: FuzzedRequest, mark: string): FuzzedRequest {
  const query = `${target.includes('?') ? '&' : '?'}<script>${mark}</script>`;
  return {
    ...rest,
    target: `${target}${query}`,
    headers: [...headers, ['Referer', `<script>${mark}</script>`]],
    body: body.length === 0 ? body : Buffer.concat([body, Buffer.from(mark)]),
  };
}

/**
 * What is answered to a request. Node itself refuses invalid HTTP, a missing Host and every Expect, and closes: if a body still
 * comes, the reset may overtake the answer. Such a request is sent again without its body, which nothing overtakes.
 */
async function answerTo(port: number, request: FuzzedRequest): Promise<RawAnswer> {
  const answer = await sendBytes(port, bytesOf(request));
  if (answer) return answer;
  assert.ok(request.body.length > 0, 'no answer');
  const again = await sendBytes(port, bytesOf({ ...request, body: Buffer.alloc(0) }));
  assert.ok(again, 'no answer, not even without the body');
  const said = `without the body: ${again.status} ${again.body.slice(0, 500)}`;
  assert.ok(protocolStatuses.has(again.status) && again.body === '', said);
  return again;
}

/** @returns the status of what is answered. */
async function look(
  { port }: DashboardServer,
  request: FuzzedRequest,
  mark: string,
): Promise<number> {
  const answer = await answerTo(port, request);
  const { status, headers, body } = answer;
  const said = `${status} ${body.slice(0, 500)}`;
  assert.ok(status < 500, said);
  const { size } = new Set([...headers.values(), body].filter((text) => text.includes(mark)));
  assert.equal(size, 0, said);
  if (body === '' && protocolStatuses.has(status)) return status;
  // Of whatever is answered, a browser makes nothing else than it is, and runs nothing in it.
  assert.equal(headers.get('x-content-type-options'), 'nosniff', said);
  assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/, said);
  assert.ok(!headers.has('x-evil') && !headers.has('location') && !headers.has('set-cookie'), said);
  if (status === 200 || status === 304) return status;
  assert.match(headers.get('content-type') ?? '', /^application\/json/, said);
  if (request.method === 'HEAD') return status;
  const { error, errorDescription } = JSON.parse(body) as Readonly<Record<string, unknown>>;
  assert.match(`${String(error)}: ${String(errorDescription)}`, /^[A-Z][A-Za-z]+: ./, said);
  return status;
}

/** @returns the status of what is answered. */
async function attack(target: Target, request: FuzzedRequest): Promise<number> {
  const port = Number(new URL(target.url).port);
  const answer = await answerTo(port, request);
  await requireAnswer(target, request, answer);
  const headers = target.token === undefined ? {} : { Authorization: `Bearer ${target.token}` };
  const good = await fetch(`${target.url}/api/v1/progress`, { headers });
  const body: unknown = await good.json();
  const exchange = { method: 'GET', path: '/api/v1/progress' } as const;
  await requireDocumented(target.program, { ...exchange, status: good.status, body });
  assert.equal(good.status, 200, JSON.stringify(body));
  return answer.status;
}

async function requireAnswer(
  { program }: Target,
  { method, target, body: sent }: FuzzedRequest,
  { status, headers, body }: RawAnswer,
): Promise<void> {
  const said = `${status} ${body.slice(0, 500)}`;
  assert.ok(status < 500 || (status === 503 && headers.has('retry-after')), said);
  assert.ok(body.length < 100_000, `${body.length} characters`);
  const isProbe = probePaths.some((path) => path === target.replace(/\?.*/s, ''));
  if (method === 'HEAD' || (isProbe && status === 200)) return;
  if (body === '' && protocolStatuses.has(status)) return;
  if (headers.get('content-type') === 'application/x-ndjson') {
    assert.equal(status, 200, said);
    for (const line of body.split('\n').slice(0, -1))
      assert.ok('type' in (JSON.parse(line) as object), said);
    return;
  }
  const parsed: unknown = JSON.parse(body);
  const known = method === 'GET' || method === 'POST' ? method : undefined;
  if (known) {
    const requestBody: unknown =
      status === 200 && known === 'POST' ? JSON.parse(sent.toString()) : undefined;
    await requireDocumented(program, {
      ...{ method: known, path: target, requestBody, status, body: parsed },
    });
  }
  if (status !== 200) {
    const { error, errorDescription } = parsed as Readonly<Record<string, unknown>>;
    assert.match(`${String(error)}: ${String(errorDescription)}`, /^[A-Z][A-Za-z]+: ./, said);
  }
}

function shown({ method, target, headers, body }: FuzzedRequest): string {
  return `${method} ${target.slice(0, 200)} ${JSON.stringify(headers)} ${body.toString().slice(0, 500)}`;
}
