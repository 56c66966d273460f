import assert from 'node:assert/strict';
import type { StatefulSet } from '../kube/builtin-resources.ts';
import {
  secretsChangedAnnotation,
  secretsHashAnnotation,
  secretsHashOf,
  type SecretsRecord,
} from './operand-secrets.ts';
import { recordedChange, secretsRecordOf } from './secrets-record.ts';
import { givenSecrets } from './testing/given-secrets.ts';
import { nowMs } from './testing/running-pod.ts';
import { tokenArgument } from './workload.ts';

const now = '2026-01-01T12:00:00Z';
const earlier = '2025-12-24T08:30:00Z';
const hash = secretsHashOf(givenSecrets, undefined) ?? '';
const missing = { kind: 'missing', description: 'there is no Secret new-uri' } as const;

/** The StatefulSet of an operand, with what it records. */
function setWith(
  former: string | undefined,
  { changedAt, token = givenSecrets.token }: { changedAt?: string; token?: string } = {},
): StatefulSet {
  const annotations = former === undefined ? {} : { [secretsHashAnnotation]: former };
  const containers = [
    { name: 'sidecar', args: [tokenArgument('sidecar')] },
    { name: 'syncer', args: ['syncer', tokenArgument(token)] },
  ];
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: {
      ...{ name: 'orders-syncer', resourceVersion: '7' },
      ...(changedAt !== undefined && { annotations: { [secretsChangedAnnotation]: changedAt } }),
    },
    spec: {
      ...{ selector: {}, serviceName: 'orders-syncer' },
      template: { metadata: { annotations }, spec: { containers } },
    },
  };
}

function recordOf(
  statefulSet: StatefulSet | undefined,
  changes: Partial<typeof givenSecrets> = {},
  hasPods = true,
): SecretsRecord | undefined {
  return secretsRecordOf({ ...givenSecrets, ...changes }, { statefulSet, nowMs, hasPods });
}

describe('secretsRecordOf', () => {
  const cases: readonly (readonly [
    string,
    StatefulSet | undefined,
    Partial<SecretsRecord> | undefined,
  ])[] = [
    ['at the first making', undefined, {}],
    ['of Secrets that have never changed', setWith(hash), {}],
    ['of Secrets that have changed', setWith('former'), { changedAt: now, replaces: '7' }],
    [
      'of Secrets that have changed again',
      setWith('former', { changedAt: earlier }),
      { changedAt: now, replaces: '7' },
    ],
    [
      'of the same Secrets as at their last change',
      setWith(hash, { changedAt: earlier }),
      { changedAt: earlier },
    ],
    // A hash with another key cannot be compared.
    [
      'of pods for another token',
      setWith('former', { changedAt: earlier, token: 'another' }),
      { changedAt: earlier },
    ],
    ['of pods for another token, and no change', setWith('former', { token: 'another' }), {}],
    ['where nothing says what the pods have read', setWith(undefined), {}],
    ['of a time that is none', setWith(hash, { changedAt: 'yesterday' }), {}],
    [
      'of a time that a status cannot have',
      setWith(hash, { changedAt: '+275760-09-13T00:00Z' }),
      {},
    ],
    ['of a day that is none', setWith(hash, { changedAt: '2025-02-30T00:00:00Z' }), {}],
  ];
  for (const [what, statefulSet, expected] of cases) {
    const { changedAt = 'no time', replaces } = expected ?? {};
    it(`has ${changedAt}${replaces === undefined ? '' : `, over ${replaces}`}: ${what}`, () => {
      const none = { changedAt: undefined, replaces: undefined };
      assert.deepEqual(recordOf(statefulSet), { ...none, hash, ...expected });
    });
  }

  it('keeps all as it is while a Secret is missing, and is none before there are pods', () => {
    const set = setWith('former', { changedAt: earlier });
    assert.deepEqual(recordOf(set, { destination: missing }), {
      ...{ hash: 'former', changedAt: earlier, replaces: undefined },
    });
    assert.equal(recordOf(undefined, { destination: missing }), undefined);
  });

  it('keeps the time where no pods are to run', () => {
    const set = setWith('former', { changedAt: earlier });
    const kept = { hash, changedAt: earlier, replaces: undefined };
    assert.deepEqual(recordOf(set, {}, false), kept);
  });

  it('is the same when it is made again of what it has made', () => {
    const first = recordOf(setWith('former'));
    assert.ok(first?.changedAt !== undefined);
    const made = setWith(first.hash, { changedAt: first.changedAt });
    const later = { statefulSet: made, nowMs: nowMs + 60_000, hasPods: true };
    assert.deepEqual(secretsRecordOf(givenSecrets, later), { ...first, replaces: undefined });
  });
});

describe('recordedChange', () => {
  it('is the time that a StatefulSet records', () => {
    assert.equal(recordedChange(setWith(hash, { changedAt: earlier })), earlier);
    for (const set of [undefined, setWith(hash), setWith(hash, { changedAt: '' })])
      assert.equal(recordedChange(set), undefined);
  });
});
