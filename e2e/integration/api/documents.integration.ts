import assert from 'node:assert/strict';
import { apiPrograms, openApiDocument, type ApiProgram } from '../../../docs/openapi/documents.ts';
import { requireDocumented } from '../../ground/api-document.ts';
import { VerifierProcess } from '../../ground/verifier-process.ts';
import type { Answer, SyncerProcess, SyncerProgress } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import type { MismatchSummary, VerificationProgress } from '../../../sync-api/json.ts';
import { forward, useClusterPair } from '../syncer/cluster-pair.ts';

type Method = 'GET' | 'POST';

const headers = { 'Content-Type': 'application/json' };

describe('the OpenAPI documents, compared with the servers', function () {
  const pair = useClusterPair();
  const urls: Partial<Record<ApiProgram, string>> = {};
  let syncer: SyncerProcess;
  let verifier: VerifierProcess;
  /** What was answered with 200: `syncer POST /api/v1/start`. */
  const answered = new Set<string>();

  before(async () => {
    const [srcURI, destURI] = [pair.source.set.uri('syncer'), pair.destination.set.uri('syncer')];
    await pair.source.client
      .db('shop')
      .collection('items')
      .insertMany([{ n: 1 }, { n: 2 }]);
    syncer = await pair.syncer();
    verifier = await VerifierProcess.start({ uris: { srcURI, destURI } });
    Object.assign(urls, { syncer: syncer.url, verifier: verifier.url });
  });

  after(async () => {
    await verifier[Symbol.asyncDispose]();
    await syncer[Symbol.asyncDispose]();
  });

  async function call(
    program: ApiProgram,
    method: Method,
    path: string,
    requestBody?: unknown,
  ): Promise<Answer> {
    const response = await fetch(`${urls[program]}${path}`, {
      method,
      ...(method === 'POST' ? { headers, body: JSON.stringify(requestBody) } : {}),
    });
    const body = (await response.json()) as Answer['body'];
    const { status } = response;
    await requireDocumented(program, { method, path, requestBody, status, body });
    if (status === 200) answered.add(`${program} ${method} ${path.replace(/\?.*/, '')}`);
    return { status, body };
  }

  async function taken(
    program: ApiProgram,
    method: Method,
    path: string,
    body?: unknown,
  ): Promise<Answer['body']> {
    const answer = await call(program, method, path, body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  }

  async function untilSyncer(what: string, isReached: (progress: SyncerProgress) => boolean) {
    await until(what, async () => {
      const { progress } = await taken('syncer', 'GET', '/api/v1/progress');
      return isReached(progress as SyncerProgress);
    });
  }

  it('each command is refused with a body that the document does not allow, and with another method', async () => {
    for (const program of apiPrograms) {
      const { paths } = await openApiDocument(program);
      for (const [path, operations] of Object.entries(paths)) {
        if (!path.startsWith('/api/')) continue;
        const methods = Object.keys(operations).map((method) => method.toUpperCase());
        const other = await fetch(`${urls[program]}${path}`, { method: 'PUT', body: '{}' });
        assert.equal(other.status, 405, `PUT ${path}`);
        assert.equal(other.headers.get('allow'), methods.join(', '));
        if (!methods.includes('POST')) continue;
        const { status, body } = await call(program, 'POST', path, { ...forward, unknown: 1 });
        assert.deepEqual([status, body['error']], [400, 'InvalidBody'], path);
      }
    }
  });

  it('every operation answers as documented, through the life of a sync and of its verification', async () => {
    const start = { ...forward, enableUserWriteBlocking: true, reversible: true };
    await taken('syncer', 'GET', '/api/v1/progress');
    const refused = await call('syncer', 'POST', '/api/v1/commit', {});
    assert.equal(refused.body['error'], 'InvalidStateTransition');
    await taken('syncer', 'POST', '/api/v1/preflight', start);
    const excludeNamespaces = [{ database: 'nothing' }];
    const checked = await taken('syncer', 'POST', '/api/v1/check', { ...start, excludeNamespaces });
    assert.equal(checked['canStart'], true, JSON.stringify(checked));
    assert.equal((checked['findings'] as readonly unknown[]).length, 1);
    await taken('syncer', 'POST', '/api/v1/start', start);
    await untilSyncer('changes are applied', ({ canCommit }) => canCommit);
    const { collections } = await taken('syncer', 'GET', '/api/v1/collections');
    assert.equal((collections as readonly unknown[]).length, 1);
    const { topology } = await taken('syncer', 'GET', '/api/v1/topology');
    assert.deepEqual(topology, { kind: 'replicaSet', shards: ['source'] });
    await taken('syncer', 'POST', '/api/v1/pause', {});
    await taken('syncer', 'GET', '/api/v1/progress');
    await taken('syncer', 'POST', '/api/v1/resume', {});
    await taken('verifier', 'GET', '/api/v1/progress');
    await taken('verifier', 'POST', '/api/v1/check', {});
    await untilSyncer('it continues', ({ canCommit }) => canCommit);
    await taken('syncer', 'POST', '/api/v1/commit', {});
    await untilSyncer('it is committed', ({ state }) => state === 'COMMITTED');
    // The only difference, so that there is one to be shown: the user of the tests may write where others are blocked.
    await pair.source.client.db('shop').collection('items').insertOne({ n: 3 });
    await taken('verifier', 'POST', '/api/v1/writesOff', {});
    assert.deepEqual(await taken('verifier', 'POST', '/api/v1/writesOff', {}), {
      error: 'writesOff already set',
    });
    await until('there is a verdict', async () => {
      const { progress } = await taken('verifier', 'GET', '/api/v1/progress');
      return (progress as VerificationProgress).verdict === 'different';
    });
    const page = await taken('verifier', 'GET', '/api/v1/mismatches?limit=1');
    assert.equal((page['mismatches'] as readonly unknown[]).length, 1);
    await taken('verifier', 'GET', '/api/v1/namespaces?limit=1');
    assert.equal((await call('verifier', 'GET', '/api/v1/namespaces?limit=0')).status, 400);
    const { docMismatches } = await taken('verifier', 'GET', '/api/v1/summary');
    assert.equal((docMismatches as MismatchSummary['docMismatches']).total, 1);
    for (const path of ['/api/v1/docMismatches', '/api/v1/nsMismatches']) {
      // Their lines are held against the document by a test of their own.
      const response = await fetch(`${urls.verifier}${path}`);
      assert.equal(response.headers.get('content-type'), 'application/x-ndjson');
      const lines = (await response.text()).split('\n').slice(0, -1);
      assert.equal(lines.length, path.includes('doc') ? 1 : 0);
      answered.add(`verifier GET ${path}`);
      assert.equal((await call('verifier', 'GET', `${path}?limit=1`)).status, 400);
    }
    await pair.source.client.db('shop').collection('items').deleteOne({ n: 3 });
    await taken('syncer', 'POST', '/api/v1/reverse', {});
    await untilSyncer('it is reversed', ({ canCommit }) => canCommit);
    await taken('syncer', 'POST', '/api/v1/limits', { maxChangesPerSecond: 1_000_000 });
    await taken('syncer', 'POST', '/api/v1/repair', {});
    await untilSyncer('it is repaired', ({ canCommit, repairs }) => canCommit && repairs === 1);
    await taken('syncer', 'POST', '/api/v1/reset', { destination: 'Unblock' });
    await untilSyncer('there is no sync any more', ({ state }) => state === 'IDLE');
    for (const program of apiPrograms) {
      for (const path of ['/healthz', '/readyz', '/metrics']) {
        const response = await fetch(`${urls[program]}${path}`);
        assert.equal(response.status, 200);
        assert.match(response.headers.get('content-type') ?? '', /^text\/plain/);
        answered.add(`${program} GET ${path}`);
      }
      const { paths } = await openApiDocument(program);
      for (const [path, operations] of Object.entries(paths)) {
        for (const method of Object.keys(operations)) {
          const operation = `${program} ${method.toUpperCase()} ${path}`;
          assert.ok(answered.has(operation), `${operation} was never taken`);
        }
      }
    }
  });

  it('an answer that is otherwise is noticed', async () => {
    const exchange = { method: 'GET', path: '/api/v1/progress', status: 200 } as const;
    const { body } = await call('verifier', 'GET', exchange.path);
    const progress = body['progress'] as Readonly<Record<string, unknown>>;
    const changed = (fields: object) => ({ progress: { ...progress, ...fields } });
    const { phase: _phase, ...lacking } = progress;
    await requireDocumented('verifier', { ...exchange, body });
    for (const [other, message] of [
      [changed({ more: 1 }), /must NOT have additional properties/],
      [changed({ verdict: 'perhaps' }), /must be equal to one of the allowed values/],
      [{ progress: lacking }, /must have required property 'phase'/],
    ] as const) {
      const check = requireDocumented('verifier', { ...exchange, body: other });
      await assert.rejects(check, message);
    }
    const unknown = requireDocumented('verifier', { ...exchange, status: 302, body });
    await assert.rejects(unknown, /302 is not documented/);
  });
});
