import assert from 'node:assert/strict';
import type { VerificationProgress, VerifierProgressAnswer } from '../../../sync-api/json.ts';
import { openVerifier } from '../../../verifier/main.ts';
import type { VerifierOptions } from '../../../verifier/options.ts';
import { createLogger } from '../../../service/logger.ts';
import { requireDocumented } from '../../ground/api-document.ts';
import { assertProven } from '../../ground/assert-proven.ts';
import { until } from '../../ground/until.ts';

export type Progress = VerificationProgress;

/** An answer of the API. */
export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** A verifier under test, called over HTTP. Every answer is checked against the OpenAPI document. */
export interface VerifierSession extends AsyncDisposable {
  /** Everything it has logged. */
  readonly log: string[];
  post(command: string, body?: unknown): Promise<Answer>;
  get(path: string): Promise<Answer>;
  text(path: string): Promise<string>;
  /** Asks for something whose answer is read by the caller. */
  open(path: string): Promise<Response>;
  progress(): Promise<Progress>;
  /** Waits for the end of a verification. Where it says `equal` of all databases, each document has to be accounted for. */
  untilComplete(): Promise<Progress>;
  /** Waits until it cannot be completed, without a verdict. Resolves with the error. */
  untilFailed(): Promise<string>;
}

/** Users and certificates besides the connection strings: none. */
const noCredentials = {
  ...{ srcUser: undefined, srcPassword: undefined },
  ...{ destUser: undefined, destPassword: undefined },
  ...{ metaUser: undefined, metaPassword: undefined },
  ...{ srcServerName: undefined, destServerName: undefined, metaServerName: undefined },
  ...{ srcCaFile: undefined, srcCertificateFile: undefined, srcKeyFile: undefined },
  ...{ destCaFile: undefined, destCertificateFile: undefined, destKeyFile: undefined },
  ...{ metaCaFile: undefined, metaCertificateFile: undefined, metaKeyFile: undefined },
} as const;

/** Starts a verifier of all user databases on a free port, and waits until it is ready. */
export async function openSession(
  options: Pick<VerifierOptions, 'srcURI' | 'destURI'> & Partial<VerifierOptions>,
): Promise<VerifierSession> {
  const log: string[] = [];
  const logger = createLogger('verifier', 'debug', (line) => log.push(line));
  const verifier = await openVerifier(
    {
      metaURI: undefined,
      ...noCredentials,
      verifyAll: true,
      includeNamespaces: undefined,
      excludeNamespaces: undefined,
      verification: 'verification',
      attempt: 0,
      id: 'verifier',
      clean: true,
      comparison: 'bytes',
      reportValues: false,
      partitionMebibytes: 64,
      maxBytesPerSecond: undefined,
      readPreference: 'primary',
      port: 0,
      host: '127.0.0.1',
      apiToken: undefined,
      apiTokenHash: undefined,
      connectionFiles: 'take',
      tlsCertificateFile: undefined,
      tlsKeyFile: undefined,
      workers: 4,
      logLevel: 'debug',
      config: undefined,
      ...options,
    },
    logger,
  );
  const url = `http://127.0.0.1:${verifier.port}`;
  try {
    // Before it is connected, or knows why it cannot be, it can say nothing of the verification.
    await until('the verifier is ready', async () => (await fetch(`${url}/readyz`)).ok);
  } catch (error) {
    await verifier[Symbol.asyncDispose]();
    throw error;
  }
  const call = async (method: 'GET' | 'POST', path: string, sent?: unknown): Promise<Answer> => {
    const body = JSON.stringify(sent);
    const posted = { headers: { 'Content-Type': 'application/json' }, body };
    const response = await fetch(`${url}${path}`, {
      method,
      ...(method === 'POST' ? posted : {}),
    });
    const answer = {
      status: response.status,
      body: (await response.json()) as Record<string, unknown>,
    };
    await requireDocumented('verifier', { method, path, requestBody: sent, ...answer });
    return answer;
  };
  const session: VerifierSession = {
    log,
    async post(command, body = {}) {
      return await call('POST', `/api/v1/${command}`, body);
    },
    async get(path) {
      return await call('GET', path);
    },
    async open(path) {
      return await fetch(`${url}${path}`);
    },
    async text(path) {
      return await (await fetch(`${url}${path}`)).text();
    },
    async progress() {
      const { status, body } = await session.get('/api/v1/progress');
      assert.equal(status, 200, JSON.stringify(body));
      return (body as unknown as VerifierProgressAnswer).progress;
    },
    async untilComplete() {
      let last = await session.progress();
      await until('the verification is complete', async () => {
        last = await session.progress();
        assert.equal(last.error, null);
        return last.phase === 'idle' && last.verdict !== null;
      });
      const isOfAll = !options.includeNamespaces && !options.excludeNamespaces;
      if (last.verdict === 'equal' && options.verifyAll !== false && isOfAll) {
        await assertProven(last.proof, options.srcURI, options.destURI);
      }
      return last;
    },
    async untilFailed() {
      let last: Progress | undefined;
      await until('the verification cannot be completed', async () => {
        last = await session.progress();
        assert.equal(last.verdict, null);
        return last.error !== null;
      });
      return String(last?.error);
    },
    async [Symbol.asyncDispose]() {
      await verifier[Symbol.asyncDispose]();
    },
  };
  return session;
}

/** Runs a whole verification of two sides that nobody writes to, in one pass: it is told so before it plans the first one. */
export async function verifyOnce(
  options: Parameters<typeof openSession>[0],
): Promise<{ progress: Progress; log: readonly string[] }> {
  await using session = await openSession(options);
  assert.deepEqual((await session.post('writesOff')).body, { success: true });
  assert.deepEqual((await session.post('check')).body, { success: true });
  return { progress: await session.untilComplete(), log: session.log };
}
