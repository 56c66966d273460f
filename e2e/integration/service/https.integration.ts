import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { hashOfToken } from '../../../service/api-token.ts';
import { sendRequest, UntrustedServerError } from '../../../service/http-request.ts';
import {
  genericErrorBody,
  startHttpServer,
  type HttpServer,
} from '../../../service/http-server.ts';
import { createLogger } from '../../../service/logger.ts';
import type { CertificateFiles } from '../../../service/served-certificate.ts';
import { issueCertificate, type IssuedCertificate } from '../../ground/certificates.ts';
import { CliProcess } from '../../ground/cli-process.ts';
import { createGuardedFolder, type GuardedFolder } from '../../ground/guarded-folder.ts';
import { TcpProxy } from '../../ground/tcp-proxy.ts';
import { until } from '../../ground/until.ts';

const { signal } = new AbortController();
const serverName = 'orders-syncer.shop.svc';

describe('HTTPS', () => {
  let folder: GuardedFolder;
  let files: CertificateFiles;
  let first: IssuedCertificate;
  let other: IssuedCertificate;
  let server: HttpServer;
  const log: string[] = [];
  let notes = 0;
  let asked = 0;

  before(async () => {
    folder = await createGuardedFolder();
    [first, other] = await Promise.all([
      issueCertificate(serverName),
      issueCertificate(serverName),
    ]);
    files = {
      certificateFile: join(folder.path, 'tls.crt'),
      keyFile: join(folder.path, 'tls.key'),
    };
    await serve(first);
    server = await startHttpServer({
      host: '127.0.0.1',
      port: 0,
      logger: createLogger('test', 'info', (line) => log.push(line)),
      metrics: new Registry(),
      isReady: () => true,
      apiTokenHash: hashOfToken('token'),
      certificate: files,
      routes: [
        {
          method: 'GET',
          path: '/api/v1/progress',
          handle: () => {
            asked += 1;
            return { progress: { state: 'IDLE' } };
          },
          errorBody: genericErrorBody,
        },
        {
          method: 'POST',
          path: '/api/v1/note',
          handle: () => {
            notes += 1;
            return {};
          },
          errorBody: genericErrorBody,
        },
      ],
    });
  });

  after(async () => {
    await server[Symbol.asyncDispose]();
    await folder.remove();
  });

  async function serve(certificate: Partial<IssuedCertificate>): Promise<void> {
    const { 'tls.crt': cert, 'tls.key': key } = certificate;
    if (cert !== undefined) await writeFile(files.certificateFile, cert);
    if (key !== undefined) await writeFile(files.keyFile, key, { mode: 0o600 });
  }

  async function call(
    authority: string | undefined,
    expectedName: string | undefined = serverName,
    scheme = 'https',
  ): Promise<number> {
    const { status } = await sendRequest(
      {
        method: 'GET',
        url: `${scheme}://127.0.0.1:${server.port}/api/v1/progress`,
        headers: { Authorization: 'Bearer token' },
        trust: { authority, serverName: expectedName },
        maxAnswerBytes: 1_000,
      },
      signal,
    );
    return status;
  }

  const name = ['--tls-server-name', serverName];

  /** Asks in a process of its own, which has no connection yet. */
  async function say(...args: readonly string[]) {
    await using cli = await CliProcess.start(
      [
        ...['status', '--url', `https://127.0.0.1:${server.port}`],
        ...['--api-token-file', '{token}', ...args],
      ],
      { files: { token: 'token', first: first['ca.crt'], other: other['ca.crt'] } },
    );
    const { exitCode } = await cli.end();
    return { exitCode, errors: await cli.errors() };
  }

  it('is answered to one who knows the authority and the name', async () => {
    assert.equal(await call(first['ca.crt']), 200);
  });

  it('is given up before anything is sent where the certificate is not as it must be', async () => {
    const cases: readonly (readonly [string | undefined, string | undefined, RegExp])[] = [
      [other['ca.crt'], serverName, /certificate/],
      [undefined, serverName, /certificate/],
      [first['ca.crt'], 'orders-syncer.other.svc', /orders-syncer\.other\.svc/],
    ];
    const before = asked;
    for (const [authority, expectedName, message] of cases) {
      await assert.rejects(call(authority, expectedName), (error) => {
        assert.ok(error instanceof UntrustedServerError);
        assert.match(error.message, message);
        return true;
      });
    }
    // An answer to a request that comes after them: whatever those had sent would have come before it.
    assert.equal(await call(first['ca.crt']), 200);
    assert.equal(asked, before + 1);
  });

  it('is sent nothing that may not be sent any more when the connection is there at last', async () => {
    await using proxy = await TcpProxy.start(server.port);
    proxy.freeze();
    const tooLate = new Error('too late');
    let maySend = true;
    const sent = sendRequest(
      {
        method: 'POST',
        url: `https://127.0.0.1:${proxy.port}/api/v1/note`,
        headers: { Authorization: 'Bearer token', 'Content-Type': 'application/json' },
        body: '{}',
        trust: { authority: first['ca.crt'], serverName },
        maxAnswerBytes: 1_000,
        assertMaySend: () => {
          if (!maySend) throw tooLate;
        },
      },
      signal,
    );
    await until('it waits for its connection', () => proxy.connections === 1);
    maySend = false;
    proxy.heal();
    await assert.rejects(sent, tooLate);
    assert.equal(notes, 0);
  });

  it('takes no plain HTTP', async () => {
    await assert.rejects(call(undefined, undefined, 'http'));
  });

  it('is spoken by the commands for people, which say what is missing', async () => {
    const refused = await say('--ca-file', '{other}', ...name);
    assert.match(refused.errors, /the certificate of https:\S+ is refused: .*\n.*--ca-file/);
    assert.equal(refused.exitCode, 2);
    assert.deepEqual(await say('--ca-file', '{first}', ...name), { exitCode: 0, errors: '' });
  });

  it('shows a replaced certificate, without a restart, once both files are there', async () => {
    await serve({ 'tls.crt': other['tls.crt'] });
    await until('one of them alone is not taken', () =>
      log.some((line) => line.includes('cannot be used yet')),
    );
    assert.equal(await call(first['ca.crt']), 200);
    await serve({ 'tls.key': other['tls.key'] });
    await until(
      'the other certificate is shown',
      async () =>
        await call(other['ca.crt']).then(
          (status) => status === 200,
          () => false,
        ),
    );
    const former = await say('--ca-file', '{first}', ...name);
    assert.match(former.errors, /is refused/);
    assert.doesNotMatch(log.join('\n'), /PRIVATE KEY/);
  });

  it('is not served with a key that is not that of the certificate', async () => {
    const mixed = { certificateFile: files.certificateFile, keyFile: join(folder.path, 'mixed') };
    await writeFile(mixed.keyFile, first['tls.key'], { mode: 0o600 });
    const start = startHttpServer({
      host: '127.0.0.1',
      port: 0,
      logger: createLogger('test', 'fatal'),
      metrics: new Registry(),
      isReady: () => true,
      routes: [],
      certificate: mixed,
    });
    await assert.rejects(start, { name: 'InvalidOption', message: /--tlsCertificateFile/ });
  });
});
