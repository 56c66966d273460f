import { randomBytes } from 'node:crypto';
import { messageOf } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { redact } from '../../service/redact.ts';
import { events, type Event } from './builtin-resources.ts';
import type { KubeClient } from './client.ts';
import { systemClock, type Clock } from './clock.ts';
import { Deadline } from './deadline.ts';
import { isInvalid, isNotFound } from './kube-error.ts';
import { microTime } from './micro-time.ts';
import type { KubeObject } from './resource.ts';
import { TokenBucket } from './token-bucket.ts';

/** Something that people should see in `kubectl describe`. */
export interface EventDraft {
  /** The object that the event is about. */
  readonly regarding: KubeObject;
  readonly type: 'Normal' | 'Warning';
  /** Why, in CamelCase, from a closed set. */
  readonly reason: string;
  /** What was done or tried, in CamelCase, from a closed set. */
  readonly action: string;
  /** A sentence for a person. Connection strings in it are redacted; it is cut at 1 kB. */
  readonly note: string;
}

/** What a recorder needs. */
export interface EventRecorderOptions {
  readonly client: KubeClient;
  readonly logger: Logger;
  /** `reportingController`: a qualified name, such as `clustersync.dev/operator`. */
  readonly controller: string;
  /** `reportingInstance`: the pod. */
  readonly instance: string;
  /** Namespace of the events about objects of the cluster. `default` by default. */
  readonly clusterNamespace?: string;
  /** How many different events are remembered for counting. 1000 by default. */
  readonly maxSeries?: number;
  readonly clock?: Clock;
}

interface Series {
  readonly key: string;
  readonly draft: EventDraft;
  readonly name: string;
  readonly firstMs: number;
  lastMs: number;
  count: number;
  /** What the API server knows. 0: the event has not been created. */
  sentCount: number;
  failures: number;
}

/** An event that is repeated after a longer pause is a new one. */
const seriesPauseMs = 6 * 60_000;
/** For each object: so many events at once, then one in five minutes. client-go's limits. */
const burst = 25;
const refillMs = 5 * 60_000;
const maxNoteBytes = 1024;
const maxAttempts = 5;
const retryMs = 2_000;
const idleMs = 3_600_000;
const lastFlushMs = 2_000;

/**
 * Writes events (events.k8s.io/v1). Repetitions of an event (the same object, reason, action and note) are counted in
 * its `series` instead of becoming events of their own, and each object has a limited rate; what exceeds it is
 * counted and written later. Recording never fails, never waits, and remembers a bounded number of events.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #clock: Clock;
  readonly #maxSeries: number;
  /** In the order of the last repetition. */
  readonly #series = new Map<string, Series>();
  readonly #buckets = new Map<string, TokenBucket>();
  #hasNews = false;
  #wake: () => void = () => undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#maxSeries = options.maxSeries ?? 1000;
  }

  /** Notes an event; {@link run} writes it. */
  record(draft: EventDraft): void {
    const note = cutUtf8(redact(draft.note), maxNoteBytes);
    const clean = { ...draft, note };
    const key = seriesKey(clean);
    const nowMs = this.#clock.wallMs();
    const known = this.#series.get(key);
    this.#series.delete(key);
    if (known && nowMs - known.lastMs < seriesPauseMs) {
      known.count += 1;
      known.lastMs = nowMs;
      this.#series.set(key, known);
    } else {
      this.#series.set(key, {
        key,
        draft: clean,
        name: eventName(clean.regarding.metadata.name),
        firstMs: nowMs,
        lastMs: nowMs,
        count: 1,
        sentCount: 0,
        failures: 0,
      });
      this.#forgetOldest();
    }
    this.#hasNews = true;
    this.#wake();
  }

  /** Writes what is recorded until the signal is aborted; then tries once to write what is left, for at most 2 s. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#hasNews = false;
      await this.#flush(signal);
      await this.#rest(signal);
    }
    await this.#flush(AbortSignal.timeout(lastFlushMs));
  }

  /** Waits for a new event, or, where some could not be written, for a while. */
  async #rest(signal: AbortSignal): Promise<void> {
    const isPending = [...this.#series.values()].some((series) => series.sentCount < series.count);
    using pause = new Deadline(signal, isPending ? retryMs : idleMs, this.#clock);
    if (this.#hasNews || pause.signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      pause.signal.addEventListener('abort', () => {
        resolve();
      });
    });
  }

  async #flush(signal: AbortSignal): Promise<void> {
    for (const series of [...this.#series.values()]) {
      if (signal.aborted) return;
      if (series.sentCount < series.count) await this.#send(series, signal);
    }
  }

  async #send(series: Series, signal: AbortSignal): Promise<void> {
    if (!this.#bucketOf(series).take(this.#clock.monotonicMs())) return;
    const { client, logger } = this.#options;
    const { count } = series;
    try {
      if (series.sentCount === 0) {
        await client.create(events, this.#eventOf(series), { signal });
      } else {
        const patch = {
          series: { count, lastObservedTime: microTime(series.lastMs) },
        };
        await client.patch(events, this.#refOf(series), patch, { signal });
      }
      series.sentCount = count;
      series.failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      series.failures += 1;
      // The API server deletes events after an hour: the series begins anew.
      if (isNotFound(error) && series.sentCount > 0) series.sentCount = 0;
      if (series.failures < maxAttempts && !isInvalid(error)) return;
      this.#series.delete(series.key);
      logger.warn({ reason: series.draft.reason, cause: messageOf(error) }, 'event not written');
    }
  }

  #refOf({ name, draft }: Series): { name: string; namespace: string } {
    const { clusterNamespace = 'default' } = this.#options;
    return { name, namespace: draft.regarding.metadata.namespace ?? clusterNamespace };
  }

  #eventOf(series: Series): Event {
    const { controller, instance } = this.#options;
    const { draft, count } = series;
    const { regarding } = draft;
    const { name, namespace, uid, resourceVersion } = regarding.metadata;
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: this.#refOf(series),
      eventTime: microTime(series.firstMs),
      type: draft.type,
      reason: draft.reason,
      action: draft.action,
      note: draft.note,
      reportingController: controller,
      reportingInstance: instance,
      regarding: {
        apiVersion: regarding.apiVersion,
        kind: regarding.kind,
        name,
        ...(namespace === undefined ? {} : { namespace }),
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      },
      ...(count > 1 ? { series: { count, lastObservedTime: microTime(series.lastMs) } } : {}),
    };
  }

  #bucketOf({ draft: { regarding } }: Series): TokenBucket {
    const { uid, namespace = '', name } = regarding.metadata;
    const key = uid ?? `${regarding.kind}/${namespace}/${name}`;
    const nowMs = this.#clock.monotonicMs();
    let bucket = this.#buckets.get(key);
    if (!bucket) {
      for (const [each, old] of this.#buckets) if (old.isFull(nowMs)) this.#buckets.delete(each);
      bucket = new TokenBucket({ burst, refillMs, nowMs });
      this.#buckets.set(key, bucket);
    }
    return bucket;
  }

  #forgetOldest(): void {
    if (this.#series.size <= this.#maxSeries) return;
    const all = [...this.#series.values()];
    const victim = all.find((series) => series.sentCount === series.count) ?? all[0];
    if (victim) this.#series.delete(victim.key);
  }
}

function seriesKey({ regarding, type, reason, action, note }: EventDraft): string {
  const { uid, namespace, name } = regarding.metadata;
  return JSON.stringify([regarding.kind, uid, namespace, name, type, reason, action, note]);
}

/** Unique, and no longer than a name may be. */
function eventName(object: string): string {
  return `${object.slice(0, 230)}.${randomBytes(8).toString('hex')}`;
}

/** The longest beginning of the text that takes at most so many bytes, without half a character at its end. */
function cutUtf8(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString();
}
