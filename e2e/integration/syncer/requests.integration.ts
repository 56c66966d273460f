import assert from 'node:assert/strict';
import { request } from 'node:http';
import type { Answer, SyncerProcess } from '../../ground/syncer-process.ts';
import { forward, namespacesOf, useClusterPair } from './cluster-pair.ts';

const json = { 'Content-Type': 'application/json' };

describe('contract 2.1 and part 4: requests that are wrong leave the process unharmed', () => {
  const pair = useClusterPair();
  let syncer: SyncerProcess;

  before(async () => {
    syncer = await pair.syncer();
  });

  after(async () => {
    await syncer[Symbol.asyncDispose]();
  });

  afterEach(async () => {
    assert.equal((await syncer.progress()).state, 'IDLE');
    const databases = await pair.destination.client.db('admin').admin().listDatabases();
    assert.ok(!databases.databases.some(({ name }) => name === 'clustersync_internal'));
  });

  async function send(method: string, path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(`${syncer.url}${path}`, { method, ...init });
    return { status: response.status, body: (await response.json()) as Answer['body'] };
  }

  const bodies: Readonly<Record<string, readonly [string, number, string]>> = {
    'an empty body': ['', 400, 'InvalidJSON'],
    'no JSON': ['{source: cluster0}', 400, 'InvalidJSON'],
    'half a JSON object': ['{"source": "cluster0", ', 400, 'InvalidJSON'],
    'bytes that are no text': ['\0\uFFFD{', 400, 'InvalidJSON'],
    'a JSON array': ['[{"source": "cluster0", "destination": "cluster1"}]', 400, 'InvalidJSON'],
    'JSON null': ['null', 400, 'InvalidJSON'],
    'a JSON text': ['"start"', 400, 'InvalidJSON'],
    'an unknown field': [JSON.stringify({ ...forward, sauce: 'x' }), 400, 'InvalidBody'],
    'a field of a wrong type': [
      JSON.stringify({ ...forward, enableUserWriteBlocking: 'yes' }),
      400,
      'InvalidBody',
    ],
    'a prototype in JSON': ['{"__proto__": {"source": "cluster0"}}', 400, 'InvalidBody'],
  };
  for (const [what, [body, status, error]] of Object.entries(bodies)) {
    it(`start with ${what}: ${error}`, async () => {
      assertRefused(await send('POST', '/api/v1/start', { headers: json, body }), status, error);
    });
  }

  for (const command of ['pause', 'resume', 'commit', 'reverse']) {
    it(`${command} with parameters: InvalidBody`, async () => {
      for (const body of ['{"force": true}', '{"source": "cluster0"}']) {
        const answer = await send('POST', `/api/v1/${command}`, { headers: json, body });
        assertRefused(answer, 400, 'InvalidBody');
      }
    });

    it(`${command} without a body: InvalidJSON`, async () => {
      const answer = await send('POST', `/api/v1/${command}`, { headers: json });
      assertRefused(answer, 400, 'InvalidJSON');
    });
  }

  it('an unknown path: NotFound', async () => {
    assertRefused(await send('GET', '/api/v1/stop'), 404, 'NotFound');
    assertRefused(await send('POST', '/api/v2/start', { body: '{}' }), 404, 'NotFound');
    assertRefused(await send('POST', '/start', { body: '{}' }), 404, 'NotFound');
  });

  it('a wrong method: MethodNotAllowed, and what is allowed', async () => {
    for (const command of ['start', 'pause', 'resume', 'commit', 'reverse']) {
      for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
        const response = await fetch(`${syncer.url}/api/v1/${command}`, { method });
        assert.equal(response.headers.get('Allow'), 'POST');
        const body = (await response.json()) as Answer['body'];
        assertRefused({ status: response.status, body }, 405, 'MethodNotAllowed');
      }
    }
    const answer = await send('POST', '/api/v1/progress', { headers: json, body: '{}' });
    assert.equal(answer.status, 405);
    assert.deepEqual(Object.keys(answer.body), ['error']);
    assert.match(String(answer.body['error']), /^MethodNotAllowed: /);
  });

  it('a wrong content type: UnsupportedContentType', async () => {
    for (const type of ['text/plain', 'application/xml', 'multipart/form-data; boundary=x']) {
      const answer = await send('POST', '/api/v1/start', {
        headers: { 'Content-Type': type },
        body: JSON.stringify(forward),
      });
      assertRefused(answer, 415, 'UnsupportedContentType');
    }
  });

  it('a page of another site in a browser: CrossOriginRequest', async () => {
    const answer = await send('POST', '/api/v1/start', {
      headers: { ...json, Origin: 'https://example.com' },
      body: JSON.stringify(forward),
    });
    assertRefused(answer, 403, 'CrossOriginRequest');
  });

  it('a body over 1 MiB, announced: BodyTooLarge', async () => {
    const answer = await sendLarge(syncer.url, { announced: true });
    assertRefused(answer, 413, 'BodyTooLarge');
  });

  it('a body over 1 MiB, in chunks: BodyTooLarge', async () => {
    const answer = await sendLarge(syncer.url, { announced: false });
    assertRefused(answer, 413, 'BodyTooLarge');
  });

  it('a body of just under 1 MiB is read', async () => {
    const body = JSON.stringify({ ...forward, filler: 'x'.repeat(1024 * 1024 - 100) });
    assertRefused(await send('POST', '/api/v1/start', { headers: json, body }), 400, 'InvalidBody');
  });

  it('nothing was written to the destination by any of them', async () => {
    assert.deepEqual(await namespacesOf(pair.destination), []);
  });
});

describe('contract 2.1: the generic response', () => {
  const pair = useClusterPair();
  beforeEach(async () => {
    await pair.reset();
  });

  it('has success alone when start and commit succeed', async () => {
    await using syncer = await pair.syncer();
    assert.deepEqual(await syncer.post('start', forward), { status: 200, body: { success: true } });
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual(await syncer.post('commit', {}), { status: 200, body: { success: true } });
  });

  it('has success false, the name of the error and a description when they fail', async () => {
    await using syncer = await pair.syncer();
    assertRefused(await syncer.post('start', { ...forward, source: 'x' }), 400, 'UnknownCluster');
    assertRefused(await syncer.post('commit', {}), 409, 'InvalidStateTransition');
  });

  it('takes a body that is said to be a form, as curl says it', async () => {
    await using syncer = await pair.syncer();
    const response = await fetch(`${syncer.url}/api/v1/start`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: JSON.stringify(forward),
    });
    assert.deepEqual(await response.json(), { success: true });
  });
});

function assertRefused({ status, body }: Answer, expected: number, error: string): void {
  assert.equal(body['error'], error, JSON.stringify(body));
  assert.equal(status, expected);
  assert.deepEqual(Object.keys(body).sort(), ['error', 'errorDescription', 'success']);
  assert.equal(body['success'], false);
  assert.equal(typeof body['errorDescription'], 'string');
  assert.notEqual(body['errorDescription'], '');
}

/** Sends 2 MiB and reads the answer, which may come before all was sent. */
async function sendLarge(url: string, { announced }: { announced: boolean }): Promise<Answer> {
  const body = Buffer.alloc(2 * 1024 * 1024, ' ');
  return await new Promise<Answer>((resolve, reject) => {
    const outgoing = request(
      `${url}/api/v1/start`,
      {
        method: 'POST',
        headers: { ...json, ...(announced ? { 'Content-Length': body.length } : {}) },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({
            status: response.statusCode ?? 0,
            body: JSON.parse(text) as Answer['body'],
          });
        });
      },
    );
    // The connection is closed by the other side while there is more to send: the answer counts.
    outgoing.on('error', (error) => {
      setTimeout(reject, 1000, error).unref();
    });
    outgoing.end(body);
  });
}
