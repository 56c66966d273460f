import { askTopology, type Topology } from '../../mongo/topology.ts';
import { toSyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { backoffMs } from '../../service/sleep.ts';
import { systemClock, type Clock } from '../kube/clock.ts';
import { Deadline } from '../kube/deadline.ts';
import type { ApiError } from '../operand/http-api.ts';
import type { SourceShape } from './resources.ts';

/** What is known at the moment of the deployment that a connection string leads to. */
export type SourceView =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'found'; readonly source: SourceShape }
  | { readonly kind: 'failed'; readonly error: ApiError };

/** What asking needs. */
export interface SourceTopologiesOptions {
  /** Told the key of an object of whose source something new is known. */
  readonly onChange: (key: string) => void;
  readonly logger: Logger;
  readonly clock?: Clock;
}

interface Entry {
  readonly uri: string;
  readonly stop: AbortController;
  view: SourceView;
  isAsking: boolean;
  /** How often in a row it has failed. */
  failures: number;
  /** From when on it is to be asked again. */
  askAgainMs: number;
}

const appName = 'clustersync operator';
const deadlineMs = 20_000;
/** How long an answer counts: shards are seldom added. */
const foundMs = 60_000;
/** A source that cannot be reached is asked again soon, and then less often. */
const failedMs = { baseMs: 2_000, maxMs: 30_000 } as const;
/** When the operator starts, it has many to ask. */
const maxAsking = 8;

const unknown: SourceView = { kind: 'unknown' };

/**
 * Asks the sources of ClusterSyncs for their shards, in the background, and remembers the answers for some time: one for
 * each ClusterSync, as long as its connection string is the same.
 */
export class SourceTopologies implements AsyncDisposable {
  readonly #options: SourceTopologiesOptions;
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  readonly #tasks = new Set<Promise<void>>();
  /** Those that are to be asked as soon as there is room, in order. */
  readonly #waiting = new Set<string>();

  constructor(options: SourceTopologiesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** What is known of the source of an object. Asks where that is nothing, or has become old. */
  view(key: string, uri: string): SourceView {
    const entry = this.#entryOf(key, uri);
    const isDue = !entry.isAsking && this.#clock.monotonicMs() >= entry.askAgainMs;
    if (isDue) {
      this.#waiting.add(key);
      this.#beginNext();
    }
    return entry.view;
  }

  /** Asks no more for an object. */
  forget(key: string): void {
    this.#entries.get(key)?.stop.abort();
    this.#entries.delete(key);
    this.#waiting.delete(key);
  }

  /** Stops everything; resolves when nothing is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const key of [...this.#entries.keys()]) this.forget(key);
    await Promise.all(this.#tasks);
  }

  #entryOf(key: string, uri: string): Entry {
    const known = this.#entries.get(key);
    if (known?.uri === uri) return known;
    known?.stop.abort();
    const stop = new AbortController();
    const entry = { uri, stop, view: unknown, isAsking: false, failures: 0, askAgainMs: -Infinity };
    this.#entries.set(key, entry);
    return entry;
  }

  #beginNext(): void {
    for (const key of this.#waiting) {
      if (this.#tasks.size >= maxAsking) return;
      this.#waiting.delete(key);
      const entry = this.#entries.get(key);
      if (entry && !entry.isAsking) this.#begin(key, entry);
    }
  }

  #begin(key: string, entry: Entry): void {
    entry.isAsking = true;
    const running = this.#ask(key, entry).finally(() => {
      this.#tasks.delete(running);
      this.#beginNext();
    });
    this.#tasks.add(running);
  }

  /** Never rejects. */
  async #ask(key: string, entry: Entry): Promise<void> {
    const view = await this.#askOnce(key, entry);
    entry.isAsking = false;
    if (entry.stop.signal.aborted) return;
    entry.failures = view.kind === 'failed' ? entry.failures + 1 : 0;
    const forMs = entry.failures === 0 ? foundMs : backoffMs(entry.failures - 1, failedMs);
    entry.askAgainMs = this.#clock.monotonicMs() + forMs;
    // What it said last is more than that it says nothing now.
    if (view.kind === 'failed' && entry.view.kind === 'found') return;
    const isNews = JSON.stringify(view) !== JSON.stringify(entry.view);
    entry.view = view;
    if (isNews) this.#options.onChange(key);
  }

  async #askOnce(key: string, { uri, stop }: Entry): Promise<SourceView> {
    using deadline = new Deadline(stop.signal, deadlineMs, this.#clock);
    try {
      return { kind: 'found', source: shapeOf(await askTopology(uri, appName, deadline.signal)) };
    } catch (error) {
      if (deadline.isExpired) {
        const description = `it has not answered within ${deadlineMs} ms`;
        return {
          kind: 'failed',
          error: { name: 'ClusterUnreachable', description, isLasting: false },
        };
      }
      const { name, message, row } = toSyncError(error);
      if (!stop.signal.aborted) {
        this.#options.logger.warn({ object: key, error: name }, `asking the source: ${message}`);
      }
      return {
        kind: 'failed',
        error: { name, description: message, isLasting: !row.retryable },
      };
    }
  }
}

function shapeOf({ kind, shards }: Topology): SourceShape {
  return { kind: kind === 'sharded' ? 'Sharded' : 'ReplicaSet', shards: [...shards] };
}
