import type { ServerResponse } from 'node:http';

/** How long nothing may be sent before the browser is told that the connection lives. */
const heartbeatMs = 15_000;
/** A browser that takes nothing for this time is gone. */
const stuckMs = 60_000;

/** Server-sent events to one browser. */
export class EventStream {
  readonly #response: ServerResponse;
  #sentAtMs: number;
  #blockedSinceMs: number | undefined;

  /** Begins the answer. */
  constructor(response: ServerResponse, nowMs: number) {
    this.#response = response;
    this.#sentAtMs = nowMs;
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      // For proxies that would wait for more.
      'X-Accel-Buffering': 'no',
    });
    response.flushHeaders();
  }

  /** False while the browser has not taken what was sent: it is told later, all at once. */
  isReady(nowMs: number): boolean {
    if (!this.#response.writableNeedDrain) {
      this.#blockedSinceMs = undefined;
      return true;
    }
    this.#blockedSinceMs ??= nowMs;
    if (nowMs - this.#blockedSinceMs > stuckMs) this.#response.destroy();
    return false;
  }

  send(event: string, data: object, nowMs: number): void {
    this.#write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`, nowMs);
  }

  /** Says that the connection lives, where nothing else has been said for long. */
  beat(nowMs: number): void {
    if (nowMs - this.#sentAtMs >= heartbeatMs) this.#write(': alive\n\n', nowMs);
  }

  /** Ends it in order. */
  end(): void {
    this.#response.end();
  }

  #write(text: string, nowMs: number): void {
    this.#response.write(text);
    this.#sentAtMs = nowMs;
  }
}
