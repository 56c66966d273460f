import { ApiClient } from './api-client.ts';
import { combineProgress, type SyncProgress, type SyncState } from './combine.ts';
import { SyncerApi, type SyncerCommand } from './syncer-api.ts';
import type { ApiAddress } from './api-client.ts';
import { SyncError } from '../../service/errors.ts';
import { sleep } from '../../service/sleep.ts';
import type { ResetBody, StartBody } from '../../sync-api/json.ts';
import {
  combineCollections,
  type ReportedCollections,
  type ReportedProgress,
} from '../../sync-api/syncer-answers.ts';

/** How long programs that have just been started may take to read the stored state. */
const readyDeadlineMs = 60_000;
const pollMs = 100;

/** What the instances of a sync say, or why one of them does not. */
export interface Reading {
  readonly progress: SyncProgress | undefined;
  /** Of an instance that does not answer now, but will. */
  readonly error: SyncError | undefined;
}

/** The syncers that work on one sync. */
export class Instances {
  readonly #apis: readonly SyncerApi[];

  /** @param digest - of the start options of the sync that commands are for; undefined for whichever there is. */
  constructor(addresses: readonly (() => ApiAddress)[], digest?: string) {
    this.#apis = addresses.map((address) => new SyncerApi(new ApiClient(address), digest));
  }

  /** How far the sync is. @throws SyncError for what does not pass by itself: the sync has stopped. */
  async read(signal: AbortSignal): Promise<Reading> {
    const results = await Promise.allSettled(
      this.#apis.map(async (api) => await api.progress(signal)),
    );
    signal.throwIfAborted();
    const instances: ReportedProgress[] = [];
    let error: SyncError | undefined;
    for (const result of results) {
      if (result.status === 'fulfilled') instances.push(result.value);
      else if (result.reason instanceof SyncError && result.reason.row.retryable)
        error ??= result.reason;
      else throw result.reason;
    }
    return { progress: error ? undefined : combineProgress(instances), error };
  }

  /** How far the sync is, as soon as all instances say it. @throws SyncError the error that stays. */
  async ready(signal: AbortSignal): Promise<SyncProgress> {
    const deadline = AbortSignal.timeout(readyDeadlineMs);
    for (;;) {
      const { progress, error } = await this.read(signal);
      if (progress) return progress;
      if (deadline.aborted && error) throw error;
      await sleep(pollMs, signal);
    }
  }

  async collections(signal: AbortSignal): Promise<ReportedCollections> {
    return combineCollections(
      await Promise.all(this.#apis.map(async (api) => await api.collections(signal))),
    );
  }

  async preflight(body: StartBody, signal: AbortSignal): Promise<void> {
    for (const api of this.#apis.slice(0, 1)) await api.preflight(body, signal);
  }

  /** Starts those that have not been given the start. The first one records the sync. */
  async start(body: StartBody, { instances }: SyncProgress, signal: AbortSignal): Promise<void> {
    for (const [index, api] of this.#apis.entries())
      if (instances[index]?.state === 'IDLE') await api.start(body, signal);
  }

  /** Gives a command to those that are in a state, at the same time. Rejects when one refuses it. */
  async command(
    command: SyncerCommand,
    from: SyncState,
    { instances }: SyncProgress,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#all(async (api, index) => {
      if (instances[index]?.state === from) await api.command(command, signal);
    }, signal);
  }

  /** Gives the reset to all, whatever they say of themselves. Rejects when one refuses it. */
  async reset(body: ResetBody, signal: AbortSignal): Promise<void> {
    await this.#all(async (api) => {
      await api.reset(body, signal);
    }, signal);
  }

  async #all(
    run: (api: SyncerApi, index: number) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const results = await Promise.allSettled(this.#apis.map(run));
    signal.throwIfAborted();
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }
}
