import assert from 'node:assert/strict';
import { rootCertificates } from 'node:tls';
import { apiTrust, serverNameOf, targetOf } from './api-trust.ts';
import { secretRefs } from './operand-secrets.ts';

const options = { tls: { secretName: 'orders-tls' } };
const serverName = serverNameOf('orders-syncer', { namespace: 'shop' });

function found(text: string) {
  return { kind: 'found', value: Buffer.from(text).toString('base64') } as const;
}

describe('apiTrust', () => {
  it('is asked for by the Secret alone', () => {
    assert.equal(secretRefs(undefined, {}).authority, undefined);
    assert.deepEqual(apiTrust({}, undefined, serverName), { kind: 'plain' });
    assert.deepEqual(secretRefs(undefined, options).authority, {
      name: 'orders-tls',
      kind: 'Secret',
      key: 'ca.crt',
    });
  });

  it('is the authority, and the name of the Service', () => {
    const [authority = ''] = rootCertificates;
    assert.deepEqual(apiTrust(options, found(authority), serverName), {
      kind: 'verified',
      authority,
      serverName: 'orders-syncer.shop.svc',
    });
  });

  const description = 'the Secret orders-tls has no key ca.crt';
  const unknown = [
    ['a Secret that is not there', undefined, 'SecretNotFound', 'warning'],
    ['a key that is not there', { kind: 'missing', description }, 'SecretNotFound', 'warning'],
    ['an authority that is none', found('ca'), 'InvalidCertificate', 'stalled'],
    ['nothing', found(''), 'InvalidCertificate', 'stalled'],
  ] as const;
  for (const [what, authority, reason, level] of unknown) {
    it(`does not come from ${what}`, () => {
      const trust = apiTrust(options, authority, serverName);
      assert.ok(trust.kind === 'unknown');
      assert.equal(trust.cause.reason, reason);
      assert.equal(trust.cause.level, level);
      assert.match(trust.cause.message, /orders-tls/);
    });
  }

  it('is needed before anything is sent: without it there is nobody to ask', () => {
    const pod = { process: 'a', ip: '10.0.0.1' };
    const at = { port: 27182, token: 'token' };
    const unknownTrust = apiTrust(options, undefined, serverName);
    assert.equal(targetOf(pod, { ...at, trust: unknownTrust }), undefined);
    const [authority = ''] = rootCertificates;
    const trust = apiTrust(options, found(authority), serverName);
    assert.deepEqual(targetOf(pod, { ...at, trust }), {
      process: 'a',
      baseUrl: 'https://10.0.0.1:27182',
      token: 'token',
      trust: { authority, serverName },
    });
  });
});
