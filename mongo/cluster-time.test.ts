import assert from 'node:assert/strict';
import { Timestamp, type Document } from 'mongodb';
import type { ClusterClient } from './cluster-client.ts';
import { latestWriteTime, majorityTime, timeOfAllShards } from './cluster-time.ts';
import { playedAdmin } from './testing/played-deployment.ts';

const { signal } = new AbortController();

function at(t: number): Timestamp {
  return new Timestamp({ t, i: 1 });
}

/** A cluster that answers by a function, and the commands that it was sent. */
function played(answer: (command: Document) => Document): {
  readonly cluster: ClusterClient;
  readonly sent: string[];
} {
  const sent: string[] = [];
  const admin = playedAdmin((command) => {
    sent.push(Object.keys(command)[0] ?? '');
    return { ok: 1, ...answer(command) };
  });
  return { cluster: { admin } as unknown as ClusterClient, sent };
}

/** Routers whose notes have later and later times. */
function routers() {
  let time = 10;
  return played((command) =>
    'hello' in command
      ? { msg: 'isdbgrid' }
      : { operationTime: at(time++), $clusterTime: { clusterTime: at(99) } },
  );
}

const lastWrite = { opTime: { ts: at(9), t: 1 }, majorityOpTime: { ts: at(7), t: 1 } };

describe('the times of a cluster', () => {
  it('of a majority: the first of two notes through a router, since all shards write later than the second', async () => {
    const { cluster, sent } = routers();
    assert.deepEqual(await majorityTime(cluster, signal), at(10));
    assert.deepEqual(sent, ['hello', 'appendOplogNote', 'appendOplogNote']);
  });

  it('of a majority: what the primary of a replica set knows of it, and nothing is written', async () => {
    const { cluster, sent } = played(() => ({ setName: 'rs', lastWrite }));
    assert.deepEqual(await majorityTime(cluster, signal), at(7));
    assert.deepEqual(sent, ['hello']);
  });

  it('of the latest write: that of a note through a router, that of the primary of a replica set', async () => {
    assert.deepEqual(await latestWriteTime(routers().cluster, signal), at(10));
    const { cluster } = played(() => ({ setName: 'rs', lastWrite }));
    assert.deepEqual(await latestWriteTime(cluster, signal), at(9));
  });

  it('of all shards: the cluster time that a router has from their answers, not that of one of them', async () => {
    const times = { operationTime: at(5), $clusterTime: { clusterTime: at(9) } };
    const { cluster, sent } = played(() => ({ ...times, databases: [] }));
    assert.deepEqual(await timeOfAllShards(cluster, signal), at(9));
    assert.deepEqual(sent, ['listDatabases']);
  });
});
