import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ProxiedReplicaSet } from '../ground/mongod/proxied-replica-set.ts';
import type { Member } from '../ground/mongod/replica-set.ts';
import { until } from '../ground/until.ts';
import { Mutex } from '../../service/mutex.ts';
import { sleep } from '../../service/sleep.ts';
import type { SyncerProcess } from '../ground/syncer-process.ts';
import type { Fault, ScheduledFault, SideName } from './fault-schedule.ts';

/** What faults are caused to. */
export interface FaultGround {
  readonly syncer: SyncerProcess;
  readonly sides: Readonly<Record<SideName, ProxiedReplicaSet>>;
}

/** Causes faults, and undoes them. One thing has one fault at a time; a second one waits for the end of the first. */
export class FaultMaker {
  readonly #ground: FaultGround;
  readonly #syncer = new Mutex();
  readonly #members = { source: new Mutex(), destination: new Mutex() };
  readonly #networks = { source: new Mutex(), destination: new Mutex() };
  #syncerFaults = 0;

  constructor(ground: FaultGround) {
    this.#ground = ground;
  }

  /** Changes whenever the syncer itself begins or ceases to be disturbed. */
  get syncerFaults(): number {
    return this.#syncerFaults;
  }

  /** Carries out faults at their times. When it resolves, all have passed; also after an abort. */
  async cause(faults: readonly ScheduledFault[], signal: AbortSignal): Promise<void> {
    const results = await Promise.allSettled(
      faults.map(async ({ atMs, fault }) => {
        await sleep(atMs, signal);
        await this.#cause(fault, signal);
      }),
    );
    const failed = results.find((result) => result.status === 'rejected');
    if (failed && !signal.aborted) throw failed.reason;
  }

  async #cause(fault: Fault, signal: AbortSignal): Promise<void> {
    switch (fault.kind) {
      case 'kill the syncer':
      case 'stop the syncer':
      case 'starve the syncer':
        await this.#syncer.run(async () => {
          this.#syncerFaults += 1;
          await this.#disturbSyncer(fault, signal);
          this.#syncerFaults += 1;
        });
        return;
      case 'step down':
        await this.#members[fault.side].run(async () => {
          await this.#ground.sides[fault.side].set.stepDown();
        });
        return;
      case 'kill the primary':
      case 'stop the primary':
        await this.#members[fault.side].run(async () => {
          await this.#disturbPrimary(fault, signal);
        });
        return;
      case 'break the network':
        await this.#networks[fault.side].run(async () => {
          await this.#breakNetwork(fault, signal);
        });
        return;
    }
  }

  async #disturbSyncer({ kind, forMs }: Fault & { forMs: number }, signal: AbortSignal) {
    const { syncer } = this.#ground;
    if (kind === 'stop the syncer') {
      await syncer.kill('SIGSTOP');
      await pause(forMs, signal);
      await syncer.kill('SIGCONT');
      return;
    }
    if (kind === 'kill the syncer') {
      await syncer.kill('SIGKILL');
    } else {
      await promisify(execFile)('prlimit', ['--pid', String(syncer.pid), '--data=1:1']);
      // A request that it has to hold in memory, even where it has nothing else to do.
      const filler = 'x'.repeat(1_000_000);
      await until('the syncer has died of its memory limit', async () => {
        await syncer.post('commit', { filler }).catch(() => undefined);
        return syncer.pid === undefined;
      });
    }
    await pause(forMs, signal);
    await syncer.restart();
  }

  async #disturbPrimary(
    { kind, side, forMs }: Extract<Fault, { kind: 'kill the primary' | 'stop the primary' }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { set } = this.#ground.sides[side];
    const member = await set.primary();
    if (kind === 'stop the primary') {
      await set.kill(member, 'SIGSTOP');
      await pause(forMs, signal);
      await set.kill(member, 'SIGCONT');
    } else {
      await set.kill(member);
      await pause(forMs, signal);
      await set.restart(member);
    }
    await set.primary();
  }

  async #breakNetwork(
    { how, side, of, forMs }: Extract<Fault, { kind: 'break the network' }>,
    signal: AbortSignal,
  ): Promise<void> {
    const proxied = this.#ground.sides[side];
    const proxies =
      of === 'all members' ? proxied.proxies : [proxied.proxy(await this.#anyPrimary(side))];
    for (const proxy of proxies) proxy[how]();
    if (how === 'refuse' || how === 'freeze') {
      await pause(forMs, signal);
      for (const proxy of proxies) proxy.heal();
    }
  }

  async #anyPrimary(side: SideName): Promise<Member> {
    return await this.#ground.sides[side].set.primary();
  }
}

/** Ends early when aborted: what was begun is still undone. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, signal).catch(() => undefined);
}
