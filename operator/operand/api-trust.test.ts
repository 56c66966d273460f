import assert from 'node:assert/strict';
import { rootCertificates } from 'node:tls';
import { apiTrust, authorityRef, serverNameOf } from './api-trust.ts';

const options = { tls: { secretName: 'orders-tls' } };
const serverName = serverNameOf('orders-syncer', { namespace: 'shop' });

function found(text: string) {
  return { kind: 'found', value: Buffer.from(text).toString('base64') } as const;
}

describe('apiTrust', () => {
  it('is asked for by the Secret alone', () => {
    assert.equal(authorityRef({}), undefined);
    assert.deepEqual(apiTrust({}, undefined, serverName), { kind: 'plain' });
    assert.deepEqual(authorityRef(options), { name: 'orders-tls', key: 'ca.crt' });
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
      assert.equal(trust.trouble.reason, reason);
      assert.equal(trust.trouble.level, level);
      assert.match(trust.trouble.message, /orders-tls/);
    });
  }
});
