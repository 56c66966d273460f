import { systemClock, type Clock } from './clock.ts';

/**
 * A signal that is aborted when its parent is, or after a time. Disposing of it frees the timer and removes the
 * listener from the parent, which `AbortSignal.any` does not guarantee for a signal that lives as long as the process.
 */
export class Deadline implements Disposable {
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  readonly #clock: Clock;
  readonly #onParentAbort: () => void;
  #cancel: () => void = () => undefined;
  #isExpired = false;

  constructor(parent: AbortSignal, ms: number, clock: Clock = systemClock) {
    this.signal = this.#controller.signal;
    this.#parent = parent;
    this.#clock = clock;
    this.#onParentAbort = () => {
      this.#controller.abort(parent.reason);
    };
    if (parent.aborted) this.#onParentAbort();
    else parent.addEventListener('abort', this.#onParentAbort, { once: true });
    this.rearm(ms);
  }

  /** True once the time has passed, whether or not the parent is aborted. */
  get isExpired(): boolean {
    return this.#isExpired;
  }

  /** Restarts the time, from now. Does nothing once the signal is aborted. */
  rearm(ms: number): void {
    this.#cancel();
    if (this.signal.aborted) return;
    this.#cancel = this.#clock.schedule(ms, () => {
      this.#isExpired = true;
      this.#controller.abort(new DOMException(`no answer within ${ms} ms`, 'TimeoutError'));
    });
  }

  [Symbol.dispose](): void {
    this.#cancel();
    this.#parent.removeEventListener('abort', this.#onParentAbort);
  }
}
