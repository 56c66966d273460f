import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { constants, createGzip, type Gzip } from 'node:zlib';

/** After this time without events the browser gets a sign of life. */
const heartbeatMs = 15_000;
/** A browser that reads nothing for this time is gone. */
const stuckMs = 60_000;

/** How long to wait at the end for the last data to be sent. */
const endMs = 1_000;
/** Rows are very similar: the fastest compression reduces them to a tenth. */
const compressionLevel = 1;

/** Server-sent events to one browser, compressed if it accepts that. */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #gzip: Gzip | undefined;
  #sentAtMs: number;
  #blockedSinceMs: number | undefined;

  /** Begins the answer. */
  constructor(request: IncomingMessage, response: ServerResponse, nowMs: number) {
    this.#response = response;
    this.#sentAtMs = nowMs;
    // Behind an unread body, the end of the connection would go unnoticed.
    request.resume();
    this.#gzip = takesGzip(request) ? gzipInto(response) : undefined;
    response.writeHead(200, {
      ...(this.#gzip && { 'Content-Encoding': 'gzip' }),
      Vary: 'Accept-Encoding',
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      // For proxies that would buffer it.
      'X-Accel-Buffering': 'no',
    });
    response.flushHeaders();
  }

  /** False while the browser has not read what was sent: it gets everything later, in one piece. */
  isReady(nowMs: number): boolean {
    if (!this.#body.writableNeedDrain) {
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

  /** Sends a sign of life if nothing else was sent for long. */
  beat(nowMs: number): void {
    if (nowMs - this.#sentAtMs >= heartbeatMs) this.#write(': alive\n\n', nowMs);
  }

  /** Ends it in order: the browser has received everything by then, unless it has stopped reading. Never rejects. */
  async end(): Promise<void> {
    this.#body.end();
    const options = { signal: AbortSignal.timeout(endMs) };
    await finished(this.#response, options).catch(() => undefined);
  }

  get #body(): Writable {
    return this.#gzip ?? this.#response;
  }

  #write(text: string, nowMs: number): void {
    this.#body.write(text);
    this.#gzip?.flush(constants.Z_SYNC_FLUSH);
    this.#sentAtMs = nowMs;
  }
}

function takesGzip({ headers }: IncomingMessage): boolean {
  return /\bgzip\b(?! *; *q=0(\.0*)? *(,|$))/.test(headers['accept-encoding'] ?? '');
}

function gzipInto(response: ServerResponse): Gzip {
  const gzip = createGzip({ level: compressionLevel });
  gzip.pipe(response);
  response.on('close', () => {
    gzip.destroy();
  });
  return gzip;
}
