import { randomBytes } from 'node:crypto';
import { messageOf } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { redact } from '../../service/redact.ts';
import { events, type Event } from './builtin-resources.ts';
import type { KubeClient } from './client.ts';
import { systemClock, type Clock } from './clock.ts';
import { Deadline } from './deadline.ts';
import { DelayHeap } from './delay-heap.ts';
import { FairQueue } from './fair-queue.ts';
import { isInvalid, isNotFound } from './kube-error.ts';
import { microTime } from './micro-time.ts';
import { objectKey, type KubeObject } from './resource.ts';
import { TokenBucket } from './token-bucket.ts';

/** Something that users should see in `kubectl describe`. */
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
  /** Namespace of the events about cluster-scoped objects. `default` by default. */
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
  /** The count on the API server. 0: the event has not been created. */
  sentCount: number;
  failures: number;
}

/** An event repeated after a longer pause is a new one. */
const seriesPauseMs = 6 * 60_000;
/** Per object: this many events without delay, then one in five minutes. client-go's limits. */
const burst = 25;
const refillMs = 5 * 60_000;
const maxNoteBytes = 1024;
const maxAttempts = 5;
const retryMs = 2_000;
const idleMs = 3_600_000;
const lastFlushMs = 2_000;

/**
 * Writes events (events.k8s.io/v1). Repetitions of an event (the same object, reason, action and note) are counted in
 * its `series` instead of becoming separate events, and the rate of each object is limited; excess events are
 * counted and written later. Namespaces take turns. Recording never fails or waits, and remembers a bounded number of
 * events: of the namespace with the most, the oldest are forgotten.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #clock: Clock;
  readonly #maxSeries: number;
  /** In the order of the last repetition. */
  readonly #series = new Map<string, Series>();
  readonly #buckets = new Map<string, TokenBucket>();
  /** Events to write, by key. */
  readonly #unwritten = new FairQueue();
  readonly #byEvent = new Map<string, Series>();
  /** Events that could not be written, or that exceeded the rate of their object. */
  readonly #delayed = new DelayHeap();
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
    if (known) this.#forget(known);
    const isRepeated = known && nowMs - known.lastMs < seriesPauseMs;
    const series = isRepeated ? known : newSeries(key, clean, nowMs);
    series.count += 1;
    series.lastMs = nowMs;
    this.#series.set(key, series);
    this.#byEvent.set(this.#eventKey(series), series);
    this.#forgetOldest();
    this.#unwritten.add(this.#eventKey(series));
    this.#wake();
  }

  /** Writes what is recorded until the signal is aborted; then tries once to write what is left, for at most 2 s. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#flush(signal);
      await this.#rest(signal);
    }
    this.#addDue(Infinity);
    await this.#flush(AbortSignal.timeout(lastFlushMs));
  }

  /** Waits for a new event, or until failed ones are retried. */
  async #rest(signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const dueMs = this.#delayed.nextDueMs ?? nowMs + idleMs;
    using pause = new Deadline(signal, Math.max(0, dueMs - nowMs), this.#clock);
    if (this.#unwritten.size === 0 && !pause.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        pause.signal.addEventListener('abort', () => {
          resolve();
        });
      });
    }
    this.#addDue(this.#clock.monotonicMs());
  }

  #addDue(nowMs: number): void {
    let key: string | undefined;
    while ((key = this.#delayed.takeDue(nowMs)) !== undefined) {
      if (this.#byEvent.has(key)) this.#unwritten.add(key);
    }
  }

  async #flush(signal: AbortSignal): Promise<void> {
    let key: string | undefined;
    while (!signal.aborted && (key = this.#unwritten.take()) !== undefined) {
      const series = this.#byEvent.get(key);
      if (series && series.sentCount < series.count) await this.#send(series, signal);
      this.#unwritten.done(key);
      const isLeft = series && this.#byEvent.get(key) === series && series.sentCount < series.count;
      if (isLeft) this.#delayed.add(key, this.#clock.monotonicMs() + retryMs);
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
      // The API server deletes events after an hour: the series starts over.
      if (isNotFound(error) && series.sentCount > 0) series.sentCount = 0;
      if (series.failures < maxAttempts && !isInvalid(error)) return;
      this.#forget(series);
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

  /** The key of an event's series. */
  #eventKey(series: Series): string {
    return objectKey(this.#refOf(series));
  }

  #forget(series: Series): void {
    this.#series.delete(series.key);
    const key = this.#eventKey(series);
    this.#byEvent.delete(key);
    this.#unwritten.delete(key);
  }

  #forgetOldest(): void {
    if (this.#series.size <= this.#maxSeries) return;
    const all = Map.groupBy(this.#series.values(), (series) => this.#refOf(series).namespace);
    const [first, ...others] = all.values();
    const most = others.reduce(
      (one, other) => (other.length > one.length ? other : one),
      first ?? [],
    );
    const victim = most.find((series) => series.sentCount === series.count) ?? most[0];
    if (victim) this.#forget(victim);
  }
}

function newSeries(key: string, draft: EventDraft, nowMs: number): Series {
  const name = eventName(draft.regarding.metadata.name);
  return { key, draft, name, firstMs: nowMs, lastMs: nowMs, count: 0, sentCount: 0, failures: 0 };
}

function seriesKey({ regarding, type, reason, action, note }: EventDraft): string {
  const { uid, namespace, name } = regarding.metadata;
  return JSON.stringify([regarding.kind, uid, namespace, name, type, reason, action, note]);
}

/** Unique, and within the length limit of a name. */
function eventName(object: string): string {
  return `${object.slice(0, 230)}.${randomBytes(8).toString('hex')}`;
}

/** The longest prefix of the text that takes at most this many bytes, without cutting a character in half. */
function cutUtf8(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString();
}
