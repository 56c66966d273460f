import { backoffMs } from '../../service/sleep.ts';
import type { Clock } from './clock.ts';
import type { ObjectEvent } from './object-store.ts';
import { objectKey, type KubeObject } from './resource.ts';

/** Receives events, in order for each object. It should only note what to do: usually a queue's `add`. */
export type ObjectHandler<T extends KubeObject> = (event: ObjectEvent<T>) => void;

/** What a {@link Delivery} needs. */
export interface DeliveryOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Receives each error that the handler throws. */
  readonly onError: (error: unknown, key: string) => void;
}

/** The state that a handler has last seen of an object (undefined: nothing, or that it was gone), and the state it should see. */
interface Undelivered<T> {
  readonly seen: T | undefined;
  readonly now: T | undefined;
}

/**
 * Delivers events to one handler. If the handler throws, the event is delivered again, with back-off, until it
 * succeeds. Later events for the same object are merged into it, so that the backlog is bounded: the handler gets
 * the difference between what it saw last and what is there now.
 */
export class Delivery<T extends KubeObject> implements Disposable {
  readonly #handler: ObjectHandler<T>;
  readonly #options: DeliveryOptions;
  readonly #undelivered = new Map<string, Undelivered<T>>();
  #attempt = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(handler: ObjectHandler<T>, options: DeliveryOptions) {
    this.#handler = handler;
    this.#options = options;
  }

  /** Calls the handler now. Never throws. */
  deliver(event: ObjectEvent<T>): void {
    const key = objectKey(event.object.metadata);
    const waiting = this.#undelivered.get(key);
    const merged = waiting ? { seen: waiting.seen, now: nowOf(event) } : undefined;
    if (merged) this.#undelivered.set(key, merged);
    this.#try(key, merged ? eventOf(merged) : event);
  }

  /** Stops redelivering failed events. */
  [Symbol.dispose](): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#undelivered.clear();
  }

  #try(key: string, event: ObjectEvent<T> | undefined): void {
    try {
      if (event) this.#handler(event);
      this.#undelivered.delete(key);
    } catch (error) {
      this.#options.onError(error, key);
      if (event) this.#undelivered.set(key, { seen: seenBefore(event), now: nowOf(event) });
      this.#armTimer();
    }
  }

  #armTimer(): void {
    const { clock, random } = this.#options;
    if (this.#cancelTimer) return;
    const delayMs = backoffMs(this.#attempt++, { baseMs: 800, maxMs: 30_000, random });
    this.#cancelTimer = clock.schedule(delayMs, () => {
      this.#cancelTimer = undefined;
      for (const [key, state] of [...this.#undelivered]) this.#try(key, eventOf(state));
      if (this.#undelivered.size === 0) this.#attempt = 0;
    });
  }
}

function nowOf<T extends KubeObject>(event: ObjectEvent<T>): T | undefined {
  return event.kind === 'deleted' ? undefined : event.object;
}

function seenBefore<T extends KubeObject>(event: ObjectEvent<T>): T | undefined {
  switch (event.kind) {
    case 'added':
      return undefined;
    case 'updated':
      return event.old;
    case 'deleted':
      return event.object;
  }
}

function eventOf<T extends KubeObject>({ seen, now }: Undelivered<T>): ObjectEvent<T> | undefined {
  if (now) {
    return seen ? { kind: 'updated', object: now, old: seen } : { kind: 'added', object: now };
  }
  return seen && { kind: 'deleted', object: seen };
}
