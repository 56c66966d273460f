import assert from 'node:assert/strict';
import { messageOf } from '../../service/errors.ts';
import { createLogger } from '../../service/logger.ts';
import { FakeClock } from '../kube/testing/fake-clock.ts';
import type { ApiTarget } from '../../sync-api/http-client.ts';
import { OperandMonitor, type MonitorTarget } from './monitor.ts';

interface Progress {
  readonly asked: number;
}

const targetAt = (baseUrl: string): MonitorTarget => ({
  ...{ process: baseUrl, baseUrl, token: 'token' },
  trust: undefined,
});

/** Processes that answer how often they were asked; one never answers. */
class Processes {
  readonly asked = new Map<string, number>();
  readonly changed: string[] = [];
  readonly clock = new FakeClock();
  readonly sent: string[] = [];
  mayCommand = true;
  /** What the client of the processes throws, against its contract. */
  failure: Error | undefined;
  /** What a command waits for before it is sent. */
  connected: Promise<void> = Promise.resolve();
  /** What an answer to a question waits for. */
  answering: Promise<void> = Promise.resolve();
  readonly monitor: OperandMonitor<Progress, 'pause' | 'resume'>;

  constructor() {
    this.monitor = new OperandMonitor<Progress, 'pause' | 'resume'>({
      api: {
        askProgress: async (target, signal) => await this.#answer(target, signal),
        sendCommand: async ({ baseUrl }, { name }, { assertMaySend }) => {
          await this.connected;
          if (this.failure) throw this.failure;
          try {
            assertMaySend();
          } catch (error) {
            const description = messageOf(error);
            return {
              kind: 'refused',
              error: { name: 'SyncerUnreachable', description, isLasting: false },
            };
          }
          this.sent.push(`${name} to ${baseUrl}`);
          return { kind: 'taken' };
        },
        intervalMs: () => 1_000,
      },
      onChange: (key) => this.changed.push(key),
      logger: createLogger('test', 'fatal'),
      mayCommand: () => this.mayCommand,
      clock: this.clock,
    });
  }

  watch(key: string, baseUrl: string): void {
    this.monitor.watch(key, new Map([['one', targetAt(baseUrl)]]));
  }

  /** Resolves after that time. */
  async after(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.clock.schedule(ms, resolve);
    });
  }

  async #answer({ baseUrl }: ApiTarget, signal: AbortSignal) {
    const asked = (this.asked.get(baseUrl) ?? 0) + 1;
    this.asked.set(baseUrl, asked);
    await this.answering;
    if (this.failure) throw this.failure;
    if (baseUrl === 'silent') {
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason as Error);
        });
      });
    }
    return { kind: 'progress', progress: { asked } } as const;
  }
}

describe('OperandMonitor', () => {
  it('asks again, and sends further commands, after an answer that nobody could read', async () => {
    const processes = new Processes();
    const { monitor, clock, asked, sent } = processes;
    processes.watch('shop/orders', 'quick');
    await clock.advance(500);
    const observed = () => monitor.observations('shop/orders').get('one');
    processes.failure = new Error('a length of -1');
    await clock.advance(1_000);
    assert.equal(observed()?.unreachable?.description, 'a length of -1');
    monitor.send('shop/orders', 'one', { name: 'pause', body: {} });
    await clock.advance(10);
    const { command } = observed() ?? {};
    assert.ok(command?.kind === 'refused');
    assert.deepEqual([command.error.isUnanswered, command.error.isLasting], [true, false]);
    processes.failure = undefined;
    const before = asked.get('quick') ?? 0;
    await clock.advance(3_000);
    assert.ok((asked.get('quick') ?? 0) > before);
    assert.equal(observed()?.unreachable, undefined);
    monitor.send('shop/orders', 'one', { name: 'resume', body: {} });
    await clock.advance(10);
    assert.deepEqual(sent, ['resume to quick']);
    await monitor[Symbol.asyncDispose]();
  });

  it('asks the others in their rhythm, and sends them commands, while one does not answer', async () => {
    const processes = new Processes();
    const { monitor, clock, asked, changed } = processes;
    processes.watch('shop/slow', 'silent');
    processes.watch('shop/orders', 'quick');
    await clock.advance(10_500);
    assert.deepEqual(
      [...asked],
      [
        ['silent', 1],
        ['quick', 11],
      ],
    );
    assert.deepEqual([...new Set(changed)], ['shop/orders']);
    monitor.send('shop/slow', 'one', { name: 'pause', body: {} });
    monitor.send('shop/orders', 'one', { name: 'pause', body: {} });
    await clock.advance(0);
    for (const key of ['shop/slow', 'shop/orders']) {
      assert.equal(monitor.observations(key).get('one')?.command?.kind, 'taken');
    }
    await monitor[Symbol.asyncDispose]();
    assert.equal(clock.pendingTimers, 0);
  });

  it('sends no command any more when another process may lead, not even one that waits for its connection', async () => {
    const processes = new Processes();
    const { monitor, clock, sent } = processes;
    const connected = Promise.withResolvers<undefined>();
    processes.watch('shop/orders', 'quick');
    processes.connected = connected.promise;
    const outcome = () => monitor.observations('shop/orders').get('one')?.command?.kind;
    monitor.send('shop/orders', 'one', { name: 'pause', body: {} });
    assert.equal(outcome(), 'sending');
    processes.mayCommand = false;
    connected.resolve(undefined);
    await clock.advance(0);
    assert.equal(outcome(), 'refused');
    monitor.send('shop/orders', 'one', { name: 'pause', body: {} });
    await clock.advance(0);
    assert.deepEqual(sent, []);
    await monitor[Symbol.asyncDispose]();
  });

  it('sends one command at a time, and notes none that it may not send', async () => {
    const processes = new Processes();
    const { monitor, clock, sent } = processes;
    processes.watch('shop/orders', 'quick');
    await clock.advance(500);
    const connected = Promise.withResolvers<undefined>();
    processes.connected = connected.promise;
    monitor.send('shop/orders', 'one', { name: 'pause', body: {} });
    monitor.send('shop/orders', 'one', { name: 'resume', body: {} });
    connected.resolve(undefined);
    await clock.advance(10);
    assert.deepEqual(sent, ['pause to quick']);
    processes.mayCommand = false;
    monitor.send('shop/orders', 'one', { name: 'resume', body: {} });
    assert.equal(monitor.observations('shop/orders').get('one')?.command?.name, 'pause');
    await monitor[Symbol.asyncDispose]();
  });

  it('says since when a process does not answer, and when to repeat what it has refused', async () => {
    const processes = new Processes();
    const { monitor, clock } = processes;
    processes.watch('shop/orders', 'quick');
    await clock.advance(500);
    processes.failure = new Error('no answer');
    // It is asked as soon as the command has failed.
    const failedMs = clock.wallMs();
    monitor.send('shop/orders', 'one', { name: 'pause', body: {} });
    await clock.advance(4_500);
    const { unreachable, command } = monitor.observations('shop/orders').get('one') ?? {};
    assert.equal(unreachable?.sinceMs, failedMs);
    assert.ok(command?.kind === 'refused');
    assert.ok(command.retryAtMs > command.endedMs);
    await monitor[Symbol.asyncDispose]();
  });

  it('begins again with a process that is asked otherwise, and with no other', async () => {
    const processes = new Processes();
    const { monitor, clock, asked } = processes;
    processes.watch('shop/orders', 'quick');
    await clock.advance(500);
    processes.watch('shop/orders', 'quick');
    await clock.advance(0);
    assert.equal(asked.get('quick'), 1);
    monitor.watch('shop/orders', new Map([['one', { ...targetAt('quick'), token: 'other' }]]));
    assert.equal(monitor.observations('shop/orders').get('one')?.answer, undefined);
    await clock.advance(0);
    assert.equal(asked.get('quick'), 2);
    await monitor[Symbol.asyncDispose]();
  });

  it('tells which request for a command was taken', async () => {
    const processes = new Processes();
    const { monitor, clock } = processes;
    processes.watch('shop/orders', 'quick');
    const command = () => monitor.observations('shop/orders').get('one')?.command;
    for (const request of ['one', 'two']) {
      monitor.send('shop/orders', 'one', { name: 'pause', body: {}, request });
      assert.deepEqual(command(), { name: 'pause', request, kind: 'sending' });
      await clock.advance(0);
      assert.equal(command()?.request, request);
      assert.equal(command()?.kind, 'taken');
    }
    await monitor[Symbol.asyncDispose]();
  });

  it('dates an answer by its question: it says nothing about a command taken since then', async () => {
    const processes = new Processes();
    const { monitor, clock } = processes;
    const startMs = clock.wallMs();
    processes.answering = processes.after(3_000);
    processes.watch('shop/orders', 'slow');
    await clock.advance(1_000);
    monitor.send('shop/orders', 'one', { name: 'pause', body: {} });
    await clock.advance(2_000);
    const observation = monitor.observations('shop/orders').get('one');
    assert.deepEqual(observation?.answer, { kind: 'progress', progress: { asked: 1 } });
    assert.equal(observation.askedMs, startMs);
    assert.ok(observation.command?.kind === 'taken');
    assert.equal(observation.command.endedMs, startMs + 1_000);
    await monitor[Symbol.asyncDispose]();
  });

  it('dates a command by its answer: what was asked while it was under way says nothing about it', async () => {
    const processes = new Processes();
    const { monitor, clock } = processes;
    const startMs = clock.wallMs();
    processes.watch('shop/orders', 'quick');
    processes.connected = processes.after(3_500);
    monitor.send('shop/orders', 'one', { name: 'pause', body: {} });
    await clock.advance(3_000);
    assert.equal(monitor.observations('shop/orders').get('one')?.askedMs, startMs + 3_000);
    await clock.advance(500);
    const command = monitor.observations('shop/orders').get('one')?.command;
    assert.ok(command?.kind === 'taken');
    assert.equal(command.endedMs, startMs + 3_500);
    await monitor[Symbol.asyncDispose]();
  });

  it('asks all of many processes, each less often, so that all together are asked 200 times a second', async () => {
    const processes = new Processes();
    for (let index = 0; index < 400; index++) processes.watch(`shop/${index}`, String(index));
    await processes.clock.advance(10_000);
    const counts = [...processes.asked.values()];
    assert.equal(counts.length, 400);
    const total = counts.reduce((sum, count) => sum + count, 0);
    assert.ok(total >= 2_000 && total <= 2_800, String(total));
    assert.ok(Math.min(...counts) >= 5);
    await processes.monitor[Symbol.asyncDispose]();
  });

  it('asks a process of another namespace in its rhythm, though 500 of one namespace are asked', async () => {
    const processes = new Processes();
    for (let index = 0; index < 500; index++) processes.watch(`broken/${index}`, String(index));
    processes.watch('quiet/orders', 'quiet');
    await processes.clock.advance(10_000);
    assert.ok((processes.asked.get('quiet') ?? 0) >= 10, String(processes.asked.get('quiet')));
    await processes.monitor[Symbol.asyncDispose]();
    assert.equal(processes.clock.pendingTimers, 0);
  });

  it('asks a process of another namespace, though 500 of one namespace do not answer', async () => {
    const processes = new Processes();
    for (let index = 0; index < 500; index++) processes.watch(`broken/${index}`, 'silent');
    processes.watch('quiet/orders', 'quiet');
    await processes.clock.advance(10_000);
    assert.ok((processes.asked.get('quiet') ?? 0) >= 10, String(processes.asked.get('quiet')));
    assert.equal(processes.asked.get('silent'), 200, 'each question may hold an answer of 256 KiB');
    await processes.monitor[Symbol.asyncDispose]();
    assert.equal(processes.clock.pendingTimers, 0);
  });

  it('keeps what became of each command, and counts its refusals, while others are sent', async () => {
    const processes = new Processes();
    const { monitor, clock } = processes;
    processes.watch('shop/orders', 'quick');
    const connected = Promise.withResolvers<undefined>();
    processes.connected = connected.promise;
    connected.resolve(undefined);
    const observation = () => monitor.observations('shop/orders').get('one');
    for (const name of ['pause', 'resume', 'pause', 'resume'] as const) {
      processes.mayCommand = true;
      monitor.send('shop/orders', 'one', { name, body: {} });
      // Before it is connected: it is refused.
      processes.mayCommand = false;
      await clock.advance(0);
    }
    const states = [observation()?.command, ...(observation()?.formerCommands ?? [])];
    assert.deepEqual(
      states.map((state) => [state?.name, state?.kind === 'refused' && state.attempts]),
      [
        ['resume', 2],
        ['pause', 2],
      ],
    );
    await monitor[Symbol.asyncDispose]();
  });
});
