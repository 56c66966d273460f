import assert from 'node:assert/strict';
import { rootCertificates } from 'node:tls';
import { createClusterClient } from './cluster-client.ts';
import { checkUsesTls, readConnectionTls } from './connection-tls.ts';

describe('checkUsesTls', () => {
  const [ca = ''] = rootCertificates;

  for (const text of [
    'tls=false',
    'ssl=false',
    'TLS=false',
    'tlsInsecure=true',
    'tlsAllowInvalidCertificates=true',
    'tlsallowinvalidcertificates=true',
  ]) {
    it(`refuses ${text} where certificates are given`, () => {
      const refusal = {
        name: 'InvalidOption',
        message: `--cluster0: ${text} contradicts the certificates that are given: omit one of them`,
      };
      const uri = `mongodb://host/?replicaSet=rs&${text}`;
      assert.throws(() => {
        checkUsesTls(uri, '--cluster0', { ca });
      }, refusal);
      const options = { uri, option: 'cluster0', appName: 'test', tls: { ca } };
      assert.throws(() => createClusterClient(options), refusal);
    });
  }

  it('lets a client that has no authorities accept any server, but not without TLS', () => {
    checkUsesTls('mongodb://host/?tlsInsecure=true', '--cluster0', { cert: '', key: '' });
    assert.throws(
      () => {
        checkUsesTls('mongodb://host/?tls=false', '--cluster0', { cert: '', key: '' });
      },
      { name: 'InvalidOption' },
    );
  });

  for (const text of ['tlsAllowInvalidHostnames=true', 'tlsInsecure=true', 'ssl=false']) {
    it(`refuses ${text} where a server name is given`, () => {
      const refusal = {
        name: 'InvalidOption',
        message: `--cluster0: ${text} contradicts the server name that is given: omit one of them`,
      };
      assert.throws(() => {
        checkUsesTls(`mongodb://host/?${text}`, '--cluster0', { servername: 'db.example' });
      }, refusal);
    });
  }

  it('says what is contradicted where both are given', () => {
    for (const [text, what] of [
      ['tls=false', 'certificates that are'],
      ['tlsInsecure=true', 'certificates that are'],
      ['tlsAllowInvalidHostnames=true', 'server name that is'],
    ] as const) {
      assert.throws(
        () => {
          checkUsesTls(`mongodb://host/?${text}`, '--src', { ca, servername: 'db.example' });
        },
        { message: `--src: ${text} contradicts the ${what} given: omit one of them` },
      );
    }
  });

  it('has all connections ask for the name that is given', async () => {
    const uri = 'mongodb://host/?tlsAllowInvalidHostnames=false';
    const tls = { servername: 'db.example' };
    const options = { uri, option: 'cluster0', appName: 'test', tls };
    await using client = createClusterClient(options);
    for (const { options: used } of [client.decoded, client.raw]) {
      const { tls: isUsed, servername, checkServerIdentity, rejectUnauthorized = true } = used;
      assert.deepEqual(
        [isUsed, servername, checkServerIdentity, rejectUnauthorized],
        [true, 'db.example', undefined, true],
      );
    }
  });

  it('takes what does not contradict them, and all connections verify servers by them', async () => {
    const texts = [
      '',
      'tls=true',
      'ssl=true',
      'tlsInsecure=false',
      'tlsAllowInvalidHostnames=true',
    ];
    for (const text of texts) {
      const uri = `mongodb://host/?${text}`;
      const options = { uri, option: 'cluster0', appName: 'test', tls: { ca } };
      await using client = createClusterClient(options);
      for (const { options: used } of [client.decoded, client.raw]) {
        const { tls, ca: known, rejectUnauthorized = true } = used;
        assert.deepEqual([tls, known, rejectUnauthorized], [true, ca, true]);
      }
    }
  });
});

describe('readConnectionTls', () => {
  const none = { srcCaFile: undefined, srcCertificateFile: undefined, srcKeyFile: undefined };

  it('takes the name of a server', () => {
    assert.equal(readConnectionTls('src', { ...none, srcServerName: undefined }), undefined);
    for (const srcServerName of ['db', 'db-0.Shop.example', '10.0.0.db', '0f3a', 'a.1a']) {
      const expected = { servername: srcServerName };
      assert.deepEqual(readConnectionTls('src', { ...none, srcServerName }), expected);
    }
  });

  it('refuses what no server can be told', () => {
    const long = `${'a.'.repeat(126)}ab`;
    for (const srcServerName of ['', '127.0.0.1', '::1', 'a:1', '*.a', 'a..b', 'a-', 'a b', long]) {
      assert.throws(() => readConnectionTls('src', { ...none, srcServerName }), {
        name: 'InvalidOption',
        message: '--srcServerName: expected a DNS name',
      });
    }
  });
});
