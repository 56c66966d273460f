import assert from 'node:assert/strict';
import type { Document } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { playedAdmin } from '../../mongo/testing/played-deployment.ts';
import type { Topology } from '../../mongo/topology.ts';
import { checkBalancer } from './check-balancer.ts';

describe('checkBalancer', () => {
  /**
   * Checks a cluster. Each answer takes two seconds.
   * @returns how often it asked the cluster.
   */
  async function ask(
    kind: Topology['kind'],
    status: (asked: number) => Document,
  ): Promise<{ readonly asked: number; readonly error: unknown }> {
    let asked = 0;
    const admin = playedAdmin((command) => {
      assert.equal(command['balancerStatus'], 1);
      assert.ok(++asked < 10, 'it is asked without end');
      return status(asked);
    });
    const topology: Topology = {
      ...{ kind, setName: '', host: 'a:1', version: '6.0.5', shards: [], clusterId: 'one' },
    };
    const { signal } = new AbortController();
    const now = (): number => asked * 2_000;
    const cluster = { admin } as ClusterClient;
    const checked = checkBalancer(cluster, 'cluster0', topology, signal, now);
    const error = await checked.then(
      () => null,
      (reason: unknown) => reason,
    );
    return { asked, error };
  }

  it('waits until a balancer that is off has ended its last round', async () => {
    const inRounds = (asked: number) => ({ mode: 'off', inBalancerRound: asked <= 2 });
    assert.deepEqual(await ask('sharded', inRounds), { asked: 3, error: null });
  });

  it('refuses one that is off, and does not end its round in five seconds', async () => {
    const { asked, error } = await ask('sharded', () => ({ mode: 'off', inBalancerRound: true }));
    assertRefused(error, /^the balancer of cluster0 is in its last round$/);
    assert.equal(asked, 3);
  });

  for (const mode of ['full', 'autoSplitOnly'])
    it(`refuses one whose mode is ${mode}, at once`, async () => {
      const { asked, error } = await ask('sharded', () => ({ mode, inBalancerRound: false }));
      assertRefused(error, new RegExp(`^the balancer of cluster0 is running \\(mode ${mode}\\)$`));
      assert.equal(asked, 1);
    });

  it('asks no replica set, which has none', async () => {
    const running = { mode: 'full', inBalancerRound: true };
    assert.deepEqual(await ask('replicaSet', () => running), { asked: 0, error: null });
  });
});

function assertRefused(error: unknown, message: RegExp): void {
  assert.throws(
    () => {
      throw error;
    },
    { name: 'BalancerRunning', message },
  );
}
