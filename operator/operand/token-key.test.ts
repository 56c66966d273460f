import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { apiTokenHashOf, requireToken } from '../../service/api-token.ts';
import { tokenOf } from './token-key.ts';
import { tokenArgument } from './workload.ts';

const key = randomBytes(32);

function resource(namespace: string, uid: string, kind = 'ClusterSync') {
  return { apiVersion: 'clustersync.dev/v1alpha1', kind, metadata: { namespace, name: 'a', uid } };
}

describe('the token of the API of a resource', () => {
  const mine = resource('shop', 'first');
  const apiTokenHash = apiTokenHashOf({
    apiToken: undefined,
    apiTokenHash: tokenArgument(tokenOf(key, mine)).replace(/^--apiTokenHash=/, ''),
  });
  const asks = (token: string) => (): void => {
    requireToken(`Bearer ${token}`, apiTokenHash);
  };

  it('is what its pods take, who know its hash alone', () => {
    asks(tokenOf(key, mine))();
    assert.match(tokenOf(key, mine), /^[0-9a-f]{64}$/);
  });

  for (const [whose, token] of [
    ['a resource of the same name in another namespace', tokenOf(key, resource('thief', 'second'))],
    ['one that had this name before, or has it later', tokenOf(key, resource('shop', 'later'))],
    ['another kind', tokenOf(key, resource('shop', 'first', 'SyncVerification'))],
    ['an operator with another key', tokenOf(randomBytes(32), mine)],
    ['someone who has seen the arguments of the pods', apiTokenHash ?? ''],
    ['nobody', ''],
  ] as const) {
    it(`is not that of ${whose}`, () => {
      assert.throws(asks(token), { name: 'Unauthorized' });
    });
  }
});
