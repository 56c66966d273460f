import assert from 'node:assert/strict';
import { rootCertificates } from 'node:tls';
import { createClusterClient } from './cluster-client.ts';
import { checkUsesTls } from './connection-tls.ts';

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
