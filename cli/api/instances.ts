import { ApiClient } from './api-client.ts';
import { combineProgress, type SyncProgress, type SyncState } from './combine.ts';
import { SyncerApi, type SyncerCommand } from './syncer-api.ts';
import type { ApiAddress } from './api-client.ts';
import { SyncError } from '../../service/errors.ts';
import { sleep } from '../../service/sleep.ts';
import type { ReportedCheck } from '../../sync-api/check-answer.ts';
import type { Limits, RepairBody, ResetBody, StartBody } from '../../sync-api/json.ts';
import {
  combineCollections,
  type CombinedCollections,
  type ReportedProgress,
} from '../../sync-api/syncer-answers.ts';

/** How long programs that have just started may take to read the stored state. */
const readyDeadlineMs = 60_000;
const pollMs = 100;

/** The reports of a sync's instances, or why one of them does not report. */
export interface Reading {
  readonly progress: SyncProgress | undefined;
  /** Of an instance that does not answer yet. */
  readonly error: SyncError | undefined;
}

/** The syncers that work on one sync. */
export class Instances {
  readonly #apis: readonly SyncerApi[];

  /** @param digest - of the start options of the sync that commands are for; undefined for any sync. */
  constructor(addresses: readonly (() => ApiAddress)[], digest?: string) {
    this.#apis = addresses.map((address) => new SyncerApi(new ApiClient(address), digest));
  }

  /** The progress of the sync. @throws SyncError for lasting errors: the sync has stopped. */
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

  /** The progress of the sync, once all instances report it. @throws SyncError the lasting error. */
  async ready(signal: AbortSignal): Promise<SyncProgress> {
    const deadline = AbortSignal.timeout(readyDeadlineMs);
    for (;;) {
      const { progress, error } = await this.read(signal);
      if (progress) return progress;
      if (deadline.aborted && error) throw error;
      await sleep(pollMs, signal);
    }
  }

  async collections(signal: AbortSignal): Promise<CombinedCollections> {
    const lists = await Promise.all(this.#apis.map(async (api) => await api.collections(signal)));
    return combineCollections(lists, lists.length);
  }

  async preflight(body: StartBody, signal: AbortSignal): Promise<void> {
    for (const api of this.#apis.slice(0, 1)) await api.preflight(body, signal);
  }

  /** What the first instance finds: each would find the same. */
  async check(
    body: StartBody,
    settings: { readonly measureCopy: boolean },
    signal: AbortSignal,
  ): Promise<ReportedCheck> {
    const [first] = this.#apis;
    if (!first) throw new SyncError('InvalidOption', 'no instance was named');
    return await first.check(body, settings, signal);
  }

  /** Starts the instances that have not been started yet. The first one records the sync. */
  async start(body: StartBody, { instances }: SyncProgress, signal: AbortSignal): Promise<void> {
    for (const [index, api] of this.#apis.entries())
      if (instances[index]?.state === 'IDLE') await api.start(body, signal);
  }

  /** Sends a command to the instances in a state, at the same time. Rejects if one refuses it. */
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

  /** Sends the repair to all instances, whatever they report. Rejects if one refuses it. */
  async repair(body: RepairBody, signal: AbortSignal): Promise<void> {
    await this.#all(async (api) => {
      await api.repair(body, signal);
    }, signal);
  }

  /**
   * Changes the limits of the sync: all instances share what one of them is given.
   * @throws SyncError of the first one that answers; ToolUnreachable if none does.
   */
  async limits(body: Limits, signal: AbortSignal): Promise<void> {
    let silence: SyncError | undefined;
    for (const api of this.#apis) {
      try {
        await api.limits(body, signal);
        return;
      } catch (error) {
        if (!(error instanceof SyncError) || error.name !== 'ToolUnreachable') throw error;
        silence ??= error;
      }
    }
    if (silence) throw silence;
  }

  /** How many times the sync was repaired, by the instances that report it: a sync that has stopped reports nothing. */
  async repairs(signal: AbortSignal): Promise<number> {
    const results = await Promise.allSettled(
      this.#apis.map(async (api) => (await api.progress(signal)).repairs ?? 0),
    );
    signal.throwIfAborted();
    return Math.max(0, ...results.map((one) => (one.status === 'fulfilled' ? one.value : 0)));
  }

  /** Sends the reset to all instances, whatever they report. Rejects if one refuses it. */
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
