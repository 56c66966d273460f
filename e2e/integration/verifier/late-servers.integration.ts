import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { openSession } from './verifier-session.ts';

/** Longer than the driver waits for a server when it connects for the first time. */
const unreachableMs = 25_000;

const roles = ['source', 'destination'] as const;

describe('verifier, started while it can reach', () => {
  const sets: ProxiedReplicaSet[] = [];

  before(async () => {
    for (const syncerRoles of roles) {
      const proxied = await startProxiedReplicaSet({ members: 1, syncerRoles }, 'verifier');
      sets.push(proxied);
      await using client = new MongoClient(proxied.set.uri('admin'));
      await client.db('shop').collection<{ _id: number }>('items').insertOne({ _id: 1 });
    }
  });

  after(async () => {
    for (const proxied of sets) await proxied[Symbol.asyncDispose]();
  });

  for (const [what, unreachable] of [
    ['no source', roles.slice(0, 1)],
    ['no destination, with the metadata store', roles.slice(1)],
  ] as const) {
    it(`${what}, begins to work once it can`, async () => {
      const proxies = sets
        .filter((_, index) => unreachable.some((role) => roles[index] === role))
        .flatMap((proxied) => proxied.proxies);
      const [srcURI = '', destURI = ''] = sets.map(({ set }) => set.uri('syncer'));
      for (const proxy of proxies) proxy.refuse();
      const healing = delay(unreachableMs).then(() => {
        for (const proxy of proxies) proxy.heal();
      });
      await using session = await openSession({ srcURI, destURI });
      await healing;
      assert.ok(
        session.log.some((line) => line.includes('"work":"connect"')),
        'it had to wait',
      );
      assert.deepEqual((await session.post('check')).body, { success: true });
      await session.post('writesOff');
      assert.equal((await session.untilComplete()).verdict, 'equal');
    });
  }
});
