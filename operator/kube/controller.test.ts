import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import { createLogger } from '../../service/logger.ts';
import { Controller, TerminalError, type ControllerOptions, type Reconcile } from './controller.ts';
import { KubeError } from './kube-error.ts';
import { KubeMetrics } from './metrics.ts';
import { FakeClock } from './testing/fake-clock.ts';

describe('Controller', () => {
  let clock: FakeClock;
  let registry: Registry;
  let lines: string[];
  let stop: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    clock = new FakeClock();
    registry = new Registry();
    lines = [];
    stop = new AbortController();
    running = Promise.resolve();
  });

  afterEach(async () => {
    stop.abort();
    await running;
    assert.equal(clock.pendingTimers, 0, 'no timer is left behind');
  });

  function start(reconcile: Reconcile, options: Partial<ControllerOptions> = {}): Controller {
    const controller = new Controller({
      name: 'widgets',
      reconcile,
      logger: createLogger('test', 'debug', (line) => lines.push(line)),
      metrics: new KubeMetrics(registry),
      clock,
      ...options,
    });
    running = controller.run(stop.signal);
    return controller;
  }

  async function metric(name: string): Promise<number | undefined> {
    const labelled = name.includes('{') ? name : `${name}{controller="widgets"}`;
    const line = (await registry.metrics())
      .split('\n')
      .find((each) => each.startsWith(`${labelled} `));
    return line === undefined ? undefined : Number(line.slice(labelled.length));
  }

  const results = (result: string): Promise<number | undefined> =>
    metric(`controller_runtime_reconcile_total{controller="widgets",result="${result}"}`);

  it('reconciles what is put into its queue, again when it asks for that', async () => {
    const seen: string[] = [];
    const controller = start((key) => {
      seen.push(key);
      return Promise.resolve(key === 'n/a' ? { requeueAfterMs: 5000 } : {});
    });
    controller.queue.add('n/a');
    controller.queue.add('n/b');
    await clock.advance(4999);
    assert.deepEqual(seen, ['n/a', 'n/b']);
    await clock.advance(1);
    assert.deepEqual(seen, ['n/a', 'n/b', 'n/a']);
    assert.equal(await results('success'), 1);
    assert.equal(await results('requeue_after'), 2);
    assert.equal(await metric('controller_runtime_max_concurrent_reconciles'), 2);
  });

  it('does not count what was postponed', async () => {
    const controller = start((key) => Promise.resolve({ isPostponed: key === 'n/a' }));
    controller.queue.add('n/a');
    controller.queue.add('n/b');
    await clock.advance(0);
    assert.equal(await results('success'), 1);
  });

  it('looks again at a time that is not the same for all, where that is far off', async () => {
    const seen: string[] = [];
    const reconcile: Reconcile = (key) => {
      seen.push(key);
      return Promise.resolve({ requeueAfterMs: 15_000 });
    };
    const controller = start(reconcile, { random: () => 0.5 });
    controller.queue.add('n/a');
    await clock.advance(15_749);
    assert.deepEqual(seen, ['n/a']);
    await clock.advance(1);
    assert.deepEqual(seen, ['n/a', 'n/a']);
  });

  it('tries again after an error, later each time, and as at first after a success', async () => {
    const times: number[] = [];
    const controller = start(
      () => {
        times.push(clock.monotonicMs());
        return times.length === 4 ? Promise.resolve({}) : Promise.reject(new Error('no'));
      },
      { baseDelayMs: 100 },
    );
    controller.queue.add('n/a');
    await clock.advance(10_000);
    assert.deepEqual(times, [0, 100, 300, 700]);
    controller.queue.add('n/a');
    await clock.advance(100);
    assert.deepEqual(times.slice(4), [10_000, 10_100]);
    assert.equal(await metric('controller_runtime_reconcile_errors_total'), 5);
  });

  it('does not try again after a terminal error, until the key is added again', async () => {
    let runs = 0;
    const controller = start(() => {
      runs += 1;
      return Promise.reject(new TerminalError('the password is wrong'));
    });
    controller.queue.add('n/a');
    await clock.advance(3_600_000);
    assert.equal(runs, 1);
    controller.queue.add('n/a');
    await clock.advance(0);
    assert.equal(runs, 2);
    assert.equal(await metric('controller_runtime_terminal_reconcile_errors_total'), 2);
  });

  it('takes a conflict for no error', async () => {
    let runs = 0;
    const controller = start(() => {
      runs += 1;
      if (runs > 1) return Promise.resolve({});
      return Promise.reject(
        new KubeError({ request: 'PUT /', statusCode: 409, reason: 'Conflict', message: '' }),
      );
    });
    controller.queue.add('n/a');
    await clock.advance(1000);
    assert.equal(runs, 2);
    assert.equal(await metric('controller_runtime_reconcile_errors_total'), 0);
    assert.equal(await results('requeue'), 1);
  });

  it('outlives a reconcile that throws instead of rejecting', async () => {
    let runs = 0;
    const controller = start(() => {
      runs += 1;
      throw new Error('a fault');
    });
    controller.queue.add('n/a');
    await clock.advance(100);
    assert.equal(runs, 2);
  });

  it('works on as many keys at a time as it has workers, and never on one twice', async () => {
    const busy = new Map<string, () => void>();
    const controller = start(
      async (key) => {
        assert.ok(!busy.has(key));
        await new Promise<void>((resolve) => busy.set(key, resolve));
        busy.delete(key);
        return {};
      },
      { workers: 2 },
    );
    for (const key of ['a', 'b', 'c']) controller.queue.add(key);
    await clock.advance(0);
    controller.queue.add('a');
    assert.deepEqual([...busy.keys()], ['a', 'b']);
    assert.equal(await metric('controller_runtime_active_workers'), 2);
    busy.get('b')?.();
    await clock.advance(0);
    assert.deepEqual([...busy.keys()], ['a', 'c']);
    busy.get('a')?.();
    busy.get('c')?.();
    await clock.advance(0);
    assert.deepEqual([...busy.keys()], ['a']);
    busy.get('a')?.();
    await clock.advance(0);
    assert.equal(await metric('controller_runtime_active_workers'), 0);
  });

  it('aborts a reconcile that takes too long, and tries it again', async () => {
    let runs = 0;
    const controller = start(
      async (_key, { signal }) => {
        runs += 1;
        if (runs === 1) await aborted(signal);
        return {};
      },
      { deadlineMs: 60_000 },
    );
    controller.queue.add('a');
    await clock.advance(60_100);
    assert.equal(runs, 2);
    assert.equal(await metric('controller_runtime_reconcile_timeouts_total'), 1);
  });

  it('logs controller, object and an id of the reconcile', async () => {
    const controller = start((_key, { logger }) => {
      logger.info('hello');
      return Promise.resolve({});
    });
    controller.queue.add('n/a');
    await clock.advance(0);
    const line = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
    assert.equal(line['controller'], 'widgets');
    assert.equal(line['object'], 'n/a');
    assert.match(String(line['reconcileID']), /^[0-9a-f-]{36}$/);
  });

  context('when it is told to stop', () => {
    it('lets the reconcile under way end, and begins no other', async () => {
      const seen: string[] = [];
      const { promise, resolve } = Promise.withResolvers<object>();
      const controller = start(
        async (key) => {
          seen.push(key);
          return await promise;
        },
        { workers: 1 },
      );
      controller.queue.add('a');
      controller.queue.add('b');
      await clock.advance(0);
      stop.abort();
      let hasEnded = false;
      void running.then(() => (hasEnded = true));
      await clock.advance(9_999);
      assert.equal(hasEnded, false);
      resolve({ requeueAfterMs: 1 });
      await running;
      assert.deepEqual(seen, ['a']);
    });

    it('aborts the reconcile under way when it does not end in time', async () => {
      let reason: unknown;
      const controller = start(async (_key, { signal }) => {
        await aborted(signal).catch((error: unknown) => {
          reason = error;
          throw error;
        });
        return {};
      });
      controller.queue.add('a');
      await clock.advance(0);
      stop.abort('enough');
      await clock.advance(10_000);
      await running;
      assert.equal(reason, 'enough');
      assert.equal(await metric('controller_runtime_reconcile_errors_total'), 0);
    });
  });
});

async function aborted(signal: AbortSignal): Promise<never> {
  return await new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what fetch and timers do, too
      reject(signal.reason);
    });
  });
}
