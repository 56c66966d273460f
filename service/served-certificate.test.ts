import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SyncError } from './errors.ts';
import { certificateFiles, readCertificate } from './served-certificate.ts';

describe('the files of a certificate', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'served-certificate-'));
    await promisify(execFile)('mkfifo', [join(folder, 'pipe')]);
    await writeFile(join(folder, 'long'), Buffer.alloc(4 * 1024 * 1024 + 1, 'a'));
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  const refused: readonly (readonly [string, () => string, RegExp])[] = [
    ['a device without end', () => '/dev/zero', /\/dev\/zero is not a regular file$/],
    ['a pipe that nobody writes to', () => join(folder, 'pipe'), /pipe is not a regular file$/],
    ['a folder', () => folder, /is not a regular file$/],
    ['a file of more than 4 MiB', () => join(folder, 'long'), /has more than 4194304 bytes$/],
    ['nothing', () => join(folder, 'none'), /none cannot be read$/],
  ];
  for (const [what, pathOf, message] of refused)
    it(`are read without waiting, and only up to a limit: ${what}`, () => {
      const certificateFile = pathOf();
      assert.throws(
        () => readCertificate({ certificateFile, keyFile: '/dev/null' }),
        (error) => {
          assert.ok(error instanceof SyncError, String(error));
          assert.equal(error.name, 'InvalidOption');
          assert.match(error.message, message);
          return true;
        },
      );
    });

  const [tlsCertificateFile, tlsKeyFile] = ['/tls.crt', '/tls.key'];
  for (const given of [
    { tlsCertificateFile, tlsKeyFile: undefined },
    { tlsCertificateFile: undefined, tlsKeyFile },
  ])
    it(`are refused if only one is given: ${given.tlsKeyFile ?? tlsCertificateFile}`, () => {
      assert.throws(() => certificateFiles(given), {
        name: 'InvalidOption',
        message: /go together/,
      });
    });

  it('are both, or none for HTTP', () => {
    const none = { tlsCertificateFile: undefined, tlsKeyFile: undefined };
    assert.equal(certificateFiles(none), undefined);
    assert.deepEqual(certificateFiles({ tlsCertificateFile, tlsKeyFile }), {
      certificateFile: tlsCertificateFile,
      keyFile: tlsKeyFile,
    });
  });
});
