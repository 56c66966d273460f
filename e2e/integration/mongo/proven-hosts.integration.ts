import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { provenHosts } from '../../../mongo/proven-hosts.ts';
import { askTopology, type Topology } from '../../../mongo/topology.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { FakeMongod, helloNames } from '../../attack/fake-mongod.ts';
import { credentials, syncerRoles } from '../../ground/mongod/users.ts';

const { signal } = new AbortController();
const asker = { appName: 'proven hosts', refusesFiles: true };
const syncer = `${credentials('syncer')}@`;

describe('the hosts at which somebody has logged in', () => {
  const running = new AsyncDisposableStack();
  let own: ReplicaSet;
  let other: ReplicaSet;
  let deployment: Topology;

  before(async () => {
    // Both are called the same, and know the same users.
    [own, other] = await Promise.all([
      startReplicaSet({ members: 3, syncerRoles: 'destination' }),
      startReplicaSet({ members: 1, syncerRoles: 'destination' }),
    ]);
    for (const set of [own, other]) running.use(set);
    deployment = await askTopology({ uri: own.uri('syncer') }, asker, signal);
  });

  after(async () => {
    await running.disposeAsync();
  });

  function hostsOf(...sets: readonly ReplicaSet[]): string[] {
    return sets.flatMap(({ members }) => members.map(({ port }) => `127.0.0.1:${port}`));
  }

  async function proven(hosts: readonly string[], user: string): Promise<string> {
    const uri = `mongodb://${user}${hosts.join()}/?replicaSet=rs0&authSource=admin`;
    return await provenHosts({ uri }, { ...asker, deployment }, signal);
  }

  it('are all members of the deployment, secondaries too, and none of another one that knows the same user', async () => {
    const expected = `mongodb://${hostsOf(own).join()}`;
    assert.equal(await proven(hostsOf(own), syncer), expected);
    assert.equal(await proven(hostsOf(own, other), syncer), expected);
  });

  it('are not those that refuse the user, ask for none, or do not answer', async () => {
    const client = new MongoClient(own.uri('admin'));
    try {
      const roles = [...syncerRoles.destination];
      await client.db('admin').command({ createUser: 'guest', pwd: 'guest', roles });
    } finally {
      await client.close();
    }
    const nowhere = '127.0.0.1:1';
    const named = [...hostsOf(other), nowhere, ...hostsOf(own)];
    assert.equal(await proven(named, 'guest:guest@'), `mongodb://${hostsOf(own).join()}`);
    assert.equal(await proven(named, 'guest:wrong@'), '');
    assert.equal(await proven(named, ''), '');
  });

  it('are none that name a member of the deployment, where the user could log in, in their own place', async () => {
    const [neighbour = ''] = hostsOf(own);
    await using stranger = await FakeMongod.start(({ name, honest, answer }) => {
      const itsSet = { setName: 'rs0', hosts: [neighbour], primary: neighbour, me: neighbour };
      const refused = { ok: 0, code: 18, codeName: 'AuthenticationFailed', errmsg: 'no' };
      if (helloNames.includes(name)) answer({ ...honest, ...itsSet });
      else answer(name.startsWith('sasl') ? refused : honest);
    });
    const named = [stranger.address, ...hostsOf(own)];
    assert.equal(await proven(named, syncer), `mongodb://${hostsOf(own).join()}`);
    // It was asked to let the user in.
    assert.ok(stranger.names.includes('saslStart') || stranger.mechanisms.size > 0);
  });

  it('are the one that is named, where there is one, and what is found by its name', async () => {
    for (const [uri, expected] of [
      ['mongodb://user:secret@a.example.com/?tls=true', 'mongodb://a.example.com'],
      ['mongodb+srv://user:secret@a.example.com/', 'mongodb+srv://a.example.com'],
      ['mongodb://user:pa@ss/word@a.example.com/', ''],
    ] as const)
      assert.equal(await provenHosts({ uri }, { ...asker, deployment }, signal), expected);
  });
});
