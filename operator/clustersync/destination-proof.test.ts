import assert from 'node:assert/strict';
import type { ProgressAnswer } from '../operand/observation.ts';
import { provenHosts } from './destination-proof.ts';
import type { SyncerProgress } from './syncer-client.ts';
import {
  answers,
  changed,
  clusterSync,
  failure,
  observationOf,
  podName,
  runningPod,
  shardedWorld,
  threeShards,
} from './testing/worlds.ts';

const named = ['a.example.com:27017', 'mongo.shop:27017', 'srv:cluster.example.com'];

function provenBy(answer: ProgressAnswer<SyncerProgress> | undefined, process?: string): string[] {
  const observation = observationOf({ answer, ...(process !== undefined && { process }) });
  const input = {
    token: 'token',
    pods: new Map([[podName, runningPod()]]),
    observations: new Map([['old', observation]]),
  };
  return [...provenHosts(clusterSync(), input, named)];
}

describe('the hosts at which a syncer has logged in', () => {
  const told: readonly (readonly [string, readonly string[]])[] = [
    ['mongodb://a.example.com', ['a.example.com:27017']],
    ['mongodb://mongo,A.example.com:27017', ['a.example.com:27017', 'mongo.shop:27017']],
    ['mongodb+srv://cluster.example.com', ['srv:cluster.example.com']],
    ['mongodb://%5Bfd00::1%5D:1', ['[fd00::1]:1']],
    ['', []],
    ['mongodb://', []],
    ['%', []],
    ['whatever', []],
  ];
  for (const [destination, expected] of told) {
    it(`are those that it tells, whatever it answers: ${JSON.stringify(destination)}`, () => {
      for (const answer of [answers.idle, answers.changes, failure('OplogRolledOver')])
        assert.deepEqual(provenBy({ ...answer, destination }), expected);
    });
  }

  it('are all that are named for another tool, which tells a state of the contract', () => {
    for (const answer of Object.values(answers)) assert.deepEqual(provenBy(answer), named);
    assert.deepEqual(provenBy(changed(answers.idle, { state: 'INITIALIZING' })), []);
  });

  it('are none where it has failed, has not answered, or is not the process of the pod', () => {
    assert.deepEqual(provenBy(failure('AuthenticationFailed')), []);
    assert.deepEqual(provenBy(undefined), []);
    assert.deepEqual(provenBy(answers.idle, 'another'), []);
    const nothing = { token: 'token', pods: new Map(), observations: new Map() };
    assert.deepEqual([...provenHosts(clusterSync(), nothing, named)], []);
  });

  it('are those of all instances', () => {
    const tells = (destination: string): ProgressAnswer<SyncerProgress> => ({
      ...answers.idle,
      destination,
    });
    const world = shardedWorld([tells('mongodb://b:1'), 'no pod', tells('mongodb://a:1')]);
    const proven = provenHosts(clusterSync({}, threeShards), world, named);
    assert.deepEqual([...proven].sort(), ['a.shop:1', 'b.shop:1']);
  });
});
