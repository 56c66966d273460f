import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Registry } from 'prom-client';
import { leases, type Lease } from '../../../operator/kube/builtin-resources.ts';
import { KubeClient } from '../../../operator/kube/client.ts';
import { systemClock } from '../../../operator/kube/clock.ts';
import { LeaderElector, LeadershipLostError } from '../../../operator/kube/leader-election.ts';
import { KubeMetrics } from '../../../operator/kube/metrics.ts';
import { createLogger } from '../../../service/logger.ts';
import type { ApiServer } from '../../ground/kubernetes/api-server.ts';
import { TcpProxy } from '../../ground/tcp-proxy.ts';
import { until } from '../../ground/until.ts';
import { useApiServer } from './use-api-server.ts';

const namespace = 'default';
/** Where leading is kept, or handed over: a machine that is busy is to change nothing of that. */
const longTimes = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 300 };
/** Where a lease is to run out. */
const shortTimes = { leaseDurationMs: 12_000, renewDeadlineMs: 8_000, retryPeriodMs: 300 };

/** A candidate that leads until told to stop. */
class Candidate {
  readonly elector: LeaderElector;
  readonly registry = new Registry();
  readonly running: Promise<void>;
  readonly #stop = new AbortController();
  isLeading = false;
  lost: LeadershipLostError | undefined;
  /** Called when it has lost, at once. */
  onLost: () => void = () => undefined;

  constructor(
    client: KubeClient,
    name: string,
    identity: string,
    itsTimes = longTimes,
    clock = systemClock,
  ) {
    this.elector = new LeaderElector({
      ...{ ...itsTimes, clock },
      client,
      namespace,
      name,
      identity,
      logger: createLogger('test', 'fatal'),
      metrics: new KubeMetrics(this.registry),
    });
    this.running = this.elector
      .run(
        this.#stop.signal,
        async (leading) => {
          this.isLeading = true;
          if (!leading.aborted) await once(leading, 'abort');
          this.isLeading = false;
        },
        (error) => {
          this.lost = error;
          this.onLost();
        },
      )
      .catch((error: unknown) => {
        assert.ok(error instanceof LeadershipLostError);
      });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.running;
  }

  async isLeaderMetric(): Promise<boolean> {
    return /^leader_election_master_status\{name="\w+"\} 1$/m.test(await this.registry.metrics());
  }
}

describe('LeaderElector, on a real API server', () => {
  const signal = new AbortController().signal;
  const candidates: Candidate[] = [];
  let server: ApiServer;
  let client: KubeClient;
  let proxy: TcpProxy;
  let proxied: KubeClient;

  useApiServer((started, itsClient) => {
    server = started;
    client = itsClient;
  });

  beforeEach(async () => {
    proxy = await TcpProxy.start(server.port);
    proxied = new KubeClient(server.config(proxy.port), new KubeMetrics(new Registry()));
  });

  afterEach(async () => {
    await Promise.all(
      candidates.splice(0).map(async (candidate) => {
        await candidate.stop();
      }),
    );
    proxied[Symbol.dispose]();
    await proxy[Symbol.asyncDispose]();
  });

  function candidate(
    through: KubeClient,
    name: string,
    identity: string,
    itsTimes = longTimes,
  ): Candidate {
    const created = new Candidate(through, name, identity, itsTimes);
    candidates.push(created);
    return created;
  }

  async function leaseOf(name: string): Promise<Lease> {
    return await client.get(leases, { namespace, name }, { signal });
  }

  /** When a lease was renewed last, in milliseconds since 1970. */
  async function renewedMs(name: string): Promise<number> {
    return Date.parse((await leaseOf(name)).spec?.renewTime ?? '');
  }

  /** Waits until a candidate that leads has renewed its lease some times, and never lost it. */
  async function untilRenewed(leader: Candidate, name: string, times: number): Promise<void> {
    const renewals = new Set<number>();
    await until('it is renewed again and again', async () => {
      assert.equal(leader.lost, undefined);
      renewals.add(await renewedMs(name));
      return renewals.size > times;
    });
    assert.equal(leader.isLeading, true);
  }

  it('has one leader; when it stops, the other one leads at once', async () => {
    // Releasing may take as long as the time between two tries.
    const itsTimes = { leaseDurationMs: 60_000, renewDeadlineMs: 40_000, retryPeriodMs: 5_000 };
    const first = candidate(client, 'handover', 'first', itsTimes);
    await until('first leads', () => first.isLeading);
    const second = candidate(client, 'handover', 'second', itsTimes);
    await until('second knows who leads', () => second.elector.leader === 'first');
    assert.equal(second.isLeading, false);
    assert.equal(await first.isLeaderMetric(), true);
    assert.equal(await second.isLeaderMetric(), false);
    await first.stop();
    const { spec: released } = await leaseOf('handover');
    assert.notEqual(released?.holderIdentity, 'first', 'the lease was released');
    await until('second leads', () => second.isLeading);
    assert.equal(first.lost, undefined);
    assert.equal(await first.isLeaderMetric(), false);
    const lease = await leaseOf('handover');
    assert.equal(lease.spec?.holderIdentity, 'second');
    assert.equal(lease.spec.leaseDurationSeconds, 60);
    assert.equal(lease.spec.leaseTransitions, 1);
    assert.match(lease.spec.renewTime ?? '', /\.\d{6}Z$/);
  });

  it('keeps leading: renews, and the others see it', async () => {
    const first = candidate(client, 'keep', 'first');
    await until('first leads', () => first.isLeading);
    const second = candidate(client, 'keep', 'second');
    const beganMs = await renewedMs('keep');
    await until('it has been renewed for longer than a lease lasts', async () => {
      assert.equal(first.lost, undefined);
      return (await renewedMs('keep')) > beganMs + longTimes.leaseDurationMs;
    });
    assert.equal(first.isLeading, true);
    assert.equal(first.elector.isLeader, true);
    assert.equal(second.isLeading, false);
    const lease = await leaseOf('keep');
    assert.equal(lease.spec?.leaseTransitions, 0);
  });

  it('loses leadership when the API server falls silent, before another one can lead', async () => {
    const first = candidate(proxied, 'silent', 'first', shortTimes);
    await until('first leads', () => first.isLeading);
    const second = candidate(client, 'silent', 'second', shortTimes);
    await until('second knows who leads', () => second.elector.leader === 'first');
    let isSecondLeading: boolean | undefined;
    first.onLost = () => {
      isSecondLeading = second.isLeading;
    };
    proxy.freeze();
    await until('first has lost', () => first.lost !== undefined);
    assert.equal(isSecondLeading, false);
    assert.equal(first.isLeading, false);
    await until('second leads', () => second.isLeading);
    proxy.heal();
    await first.running;
    assert.equal(first.elector.isLeader, false);
  });

  it('keeps leadership through a short outage', async () => {
    const first = candidate(proxied, 'outage', 'first');
    await until('first leads', () => first.isLeading);
    proxy.refuse();
    const before = proxy.accepted;
    await until('a renewal has failed', () => proxy.accepted > before);
    proxy.heal();
    await untilRenewed(first, 'outage', 5);
  });

  it('keeps leadership when each answer of the API server takes longer than the time between two tries', async () => {
    const first = candidate(proxied, 'slow', 'first');
    await until('first leads', () => first.isLeading);
    proxy.slow(700);
    await untilRenewed(first, 'slow', 5);
    proxy.slow(0);
  });

  it('loses leadership when somebody else takes the lease', async () => {
    const first = candidate(client, 'taken', 'first');
    await until('first leads', () => first.isLeading);
    await client.patch(
      leases,
      { namespace, name: 'taken' },
      { spec: { holderIdentity: 'thief' } },
      { signal },
    );
    await until('first has lost', () => first.lost !== undefined);
    assert.match(first.lost?.message ?? '', /held by thief/);
  });

  it('is not alive when its renewing is stuck long after its lease has ended', async () => {
    let skippedMs = 0;
    let isStuck = false;
    const elector = new LeaderElector({
      ...longTimes,
      client,
      namespace,
      name: 'stuck',
      identity: 'first',
      logger: createLogger('test', 'fatal'),
      metrics: new KubeMetrics(new Registry()),
      clock: {
        wallMs: () => systemClock.wallMs(),
        monotonicMs: () => systemClock.monotonicMs() + skippedMs,
        schedule: (ms, callback) => systemClock.schedule(isStuck ? 1e9 : ms, callback),
      },
    });
    const stop = new AbortController();
    const running = elector.run(stop.signal, async (leading) => {
      isStuck = true;
      if (!leading.aborted) await once(leading, 'abort');
    });
    await until('it leads', () => elector.isLeader);
    skippedMs = longTimes.leaseDurationMs;
    assert.equal(elector.isLeader, false);
    assert.equal(elector.isAlive(), true);
    skippedMs += 20_000;
    assert.equal(elector.isAlive(), false);
    stop.abort();
    await running;
    assert.equal(elector.isAlive(), true);
  });

  it('refuses times that do not fit together', () => {
    const metrics = new KubeMetrics(new Registry());
    const logger = createLogger('test', 'fatal');
    const base = { client, namespace, name: 'x', identity: 'x', logger, metrics };
    assert.throws(() => new LeaderElector({ ...base, renewDeadlineMs: 15_000 }), TypeError);
    assert.throws(() => new LeaderElector({ ...base, retryPeriodMs: 10_000 }), TypeError);
  });

  it('does not count as leader longer than the lease, before its renewing has noticed too', async () => {
    let frozenMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + frozenMs };
    const woken = new Candidate(client, 'woken', 'woken', longTimes, clock);
    candidates.push(woken);
    await until('it leads', () => woken.isLeading && woken.elector.isLeader);
    frozenMs = longTimes.leaseDurationMs;
    assert.equal(woken.elector.isLeader, false);
    assert.equal(woken.isLeading, true, 'nothing has told it yet');
  });

  it('takes over from a process that was frozen, which reports the loss when it wakes up', async () => {
    const path = await server.writeKubeConfig();
    const script = new URL('elector-process.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [script, path, JSON.stringify(shortTimes)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const lines: string[] = [];
      createInterface(child.stdout).on('line', (line) => lines.push(line));
      await until('the process leads', () => lines.includes('leading'));
      const second = candidate(client, 'frozen', 'second', shortTimes);
      await until('second knows who leads', () => second.elector.leader === 'process');
      child.kill('SIGSTOP');
      await until('second leads', () => second.isLeading);
      assert.deepEqual(lines, ['leading']);
      child.kill('SIGCONT');
      await until('the process reports the loss', () => lines.includes('lost'));
      assert.equal(second.isLeading, true);
      if (child.exitCode === null) await once(child, 'exit');
      assert.equal(child.exitCode, 1);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
