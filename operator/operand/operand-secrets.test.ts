import assert from 'node:assert/strict';
import type { StatefulSet } from '../kube/builtin-resources.ts';
import { missingSecret, secretsHashAnnotation, secretsHashOf } from './operand-secrets.ts';

const source = { kind: 'found', value: 'b2xk' } as const;
const destination = { kind: 'found', value: 'bmV3' } as const;
const missing = { kind: 'missing', description: 'there is no Secret new-uri' } as const;

function setWith(hash: string): StatefulSet {
  const template = { metadata: { annotations: { [secretsHashAnnotation]: hash } } };
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'orders-syncer' },
    spec: { template, selector: {}, serviceName: 'orders-syncer' },
  };
}

describe('secretsHashOf', () => {
  it('is what the pods of a former operator have, so that they stay when it is upgraded', () => {
    assert.equal(
      secretsHashOf({ source, destination, token: 'token' }, undefined),
      'e7dcf494000abfc1',
    );
  });

  it('stays what the StatefulSet has while a Secret is not there, or nobody says which', () => {
    const set = setWith('former');
    for (const value of [missing, undefined]) {
      const secrets = { source, destination: value, token: 'token' };
      assert.equal(secretsHashOf(secrets, set), 'former');
      assert.equal(secretsHashOf(secrets, undefined), undefined);
    }
  });
});

describe('missingSecret', () => {
  it('names the first that is not there, and none that nobody has asked for', () => {
    assert.equal(missingSecret({ source: undefined, destination: undefined }), undefined);
    assert.equal(missingSecret({ source, destination }), undefined);
    const other = { ...missing, description: 'there is no Secret old-uri' };
    for (const [secrets, message] of [
      [{ source, destination: missing }, missing.description],
      [{ source: undefined, destination: missing }, missing.description],
      [{ source: other, destination: missing }, other.description],
    ] as const) {
      const cause = { reason: 'SecretNotFound', message, level: 'warning' };
      assert.deepEqual(missingSecret(secrets), cause);
    }
  });
});
