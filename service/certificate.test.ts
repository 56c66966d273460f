import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { pairProblem, validities } from './certificate.ts';

const [one = '', other = ''] = rootCertificates;
const validityOf = (text: string) => {
  const { validFrom, validTo } = new X509Certificate(text);
  return { fromMs: Date.parse(validFrom), untilMs: Date.parse(validTo) };
};
const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';

describe('certificates', () => {
  it('have their times, in their order', () => {
    assert.deepEqual(validities(one), [validityOf(one)]);
    assert.deepEqual(validities(`# both\n${other}\n\n${one}`), [
      validityOf(other),
      validityOf(one),
    ]);
  });

  it('are told from other texts', () => {
    for (const text of ['', 'ca.crt', broken]) assert.equal(validities(text), undefined, text);
  });

  it('are none together with one that cannot be read', () => {
    for (const rest of [broken, other.slice(0, 200), other.replace('END', 'ENT')])
      for (const text of [`${one}\n${rest}`, `${rest}\n${one}`])
        assert.equal(validities(text), undefined, text);
  });

  it('cannot be used without their key', () => {
    assert.match(pairProblem(one, 'no key') ?? '', /./);
    assert.match(pairProblem('no certificate', 'no key') ?? '', /./);
    for (const head of [
      '-----BEGIN ENCRYPTED PRIVATE KEY-----',
      '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED',
    ])
      assert.match(pairProblem(one, `${head}\nAAAA`) ?? '', /^the private key is encrypted/);
  });
});
