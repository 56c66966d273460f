import assert from 'node:assert/strict';
import type { ProgressAnswer } from '../operand/observation.ts';
import type { DestinationHost } from './destination-hosts.ts';
import { secretsHashAnnotation } from '../operand/operand-secrets.ts';
import { destinationProof, type DestinationProof } from './destination-proof.ts';
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

const digest = '0123456789abcdef0123456789abcdef';
const named: readonly DestinationHost[] = [
  { host: 'a.example.com:27017', form: 'other' },
  { host: 'mongo.shop:27017', form: 'ambiguous' },
  { host: 'srv:cluster.example.com', form: 'other' },
];
const secretsHash = 'of what the pod has read';

function proofBy(
  answer: ProgressAnswer<SyncerProgress> | undefined,
  { process, hash = secretsHash }: { readonly process?: string; readonly hash?: string } = {},
  sync = clusterSync(),
): DestinationProof {
  const observation = observationOf({ answer, ...(process !== undefined && { process }) });
  const pod = runningPod();
  const annotations = { ...pod.metadata.annotations, [secretsHashAnnotation]: hash };
  const input = {
    ...{ token: 'token', secretsHash },
    pods: new Map([[podName, { ...pod, metadata: { ...pod.metadata, annotations } }]]),
    observations: new Map([['old', observation]]),
  };
  return destinationProof(sync, input, named);
}

function provenBy(...args: Parameters<typeof proofBy>): string[] {
  return proofBy(...args).hosts.map(({ host }) => host);
}

describe('the hosts at which a syncer has logged in', () => {
  const told: readonly (readonly [string, readonly string[]])[] = [
    ['mongodb://a.example.com', ['a.example.com:27017']],
    ['mongodb://mongo,A.example.com:27017', ['a.example.com:27017', 'mongo.shop:27017']],
    ['mongodb+srv://cluster.example.com', ['srv:cluster.example.com']],
    ['mongodb://a.example.com/?serverName=b.example', ['a.example.com:27017 as b.example']],
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

  it('are of the deployment that it tells, and of its namespace where it tells none that could be', () => {
    const destination = 'mongodb://mongo.shop,db.shop.svc';
    const of = (deployment: string): readonly unknown[] => [
      { host: 'db.shop:27017', form: 'full', deployment },
      { host: 'mongo.shop:27017', form: 'ambiguous', deployment },
    ];
    const proof = proofBy({ ...answers.idle, destination, deployment: digest });
    assert.deepEqual(proof, { hosts: of(digest), deployments: [digest] });
    for (const deployment of [undefined, '', 'shop', `${digest}0`, digest.toUpperCase()])
      assert.deepEqual(proofBy({ ...answers.idle, destination, deployment }), {
        hosts: of('namespace shop'),
        deployments: ['namespace shop'],
      });
  });

  it('are what the connection string of now has led to only where the pod has read that', () => {
    const answer = { ...answers.idle, destination: 'mongodb://mongo.shop', deployment: digest };
    const former = proofBy(answer, { hash: 'of another one' });
    assert.deepEqual([former.hosts.length, former.deployments], [1, []]);
    const early = proofBy({ ...answer, destination: '' });
    assert.deepEqual(early, { hosts: [], deployments: [digest] });
  });

  it('lead where the name of the servers says: a former one has led elsewhere', () => {
    const to = 'mongodb://mongo.shop';
    for (const [destination, serverName, deployments] of [
      [`${to}/?serverName=b.example`, 'b.example', [digest]],
      [`${to}/?serverName=a.example`, 'b.example', []],
      [to, 'b.example', []],
      [`${to}/?serverName=a.example`, undefined, []],
    ] as const) {
      const tls = serverName === undefined ? {} : { tls: { serverName } };
      const { destination: base } = clusterSync().spec;
      const sync = clusterSync({ destination: { ...base, ...tls } });
      const proof = proofBy({ ...answers.idle, destination, deployment: digest }, {}, sync);
      assert.deepEqual([proof.hosts.length, proof.deployments], [1, deployments]);
    }
  });

  it('are all that are named for another tool, which tells a state of the contract', () => {
    const all = named.map(({ host }) => host);
    for (const answer of Object.values(answers)) {
      assert.deepEqual(provenBy(answer), all);
      assert.deepEqual(proofBy(answer).deployments, ['namespace shop']);
    }
    assert.deepEqual(proofBy(changed(answers.idle, { state: 'INITIALIZING' })), {
      hosts: [],
      deployments: [],
    });
  });

  it('are none where it has failed, has not answered, or is not the process of the pod', () => {
    assert.deepEqual(provenBy(failure('AuthenticationFailed')), []);
    assert.deepEqual(provenBy(undefined), []);
    assert.deepEqual(provenBy(answers.idle, { process: 'another' }), []);
    const nothing = { token: 'token', secretsHash, pods: new Map(), observations: new Map() };
    assert.deepEqual(destinationProof(clusterSync(), nothing, named).hosts, []);
  });

  it('are those of all instances', () => {
    const tells = (destination: string): ProgressAnswer<SyncerProgress> => ({
      ...answers.idle,
      destination,
    });
    const world = shardedWorld([tells('mongodb://b:1'), 'no pod', tells('mongodb://a:1')]);
    const sync = clusterSync({}, threeShards);
    const { hosts } = destinationProof(sync, { ...world, secretsHash }, named);
    assert.deepEqual(hosts.map(({ host }) => host).sort(), ['a.shop:1', 'b.shop:1']);
  });
});
