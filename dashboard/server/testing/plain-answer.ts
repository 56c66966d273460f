import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** The answer to a browser that takes plain text, and reads it or does not. */
export class PlainAnswer extends EventEmitter {
  /** While the browser does not read. */
  writableNeedDrain = false;
  isDestroyed = false;
  readonly written: string[] = [];

  /** As its server gets it. */
  get request(): IncomingMessage {
    return { headers: {}, resume: () => undefined } as unknown as IncomingMessage;
  }

  get response(): ServerResponse {
    return this as unknown as ServerResponse;
  }

  writeHead(): void {
    this.emit('head');
  }

  flushHeaders(): void {
    this.emit('headers');
  }

  write(text: string): void {
    this.written.push(text);
  }

  destroy(): void {
    this.isDestroyed = true;
  }
}
