import type { Timestamp } from 'mongodb';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import type { EventBatch } from '../monitor/monitor.ts';

/** One batch of the change stream: what is known once its changes, and all before it, are on the destination. */
export interface StreamPosition {
  readonly token: RawDocument;
  readonly time: Timestamp;
}

/** A batch that is being applied. */
export type OpenPosition = StreamPosition & EventBatch;

/**
 * The batches of the stream that have been read and not been applied as a whole.
 *
 * The invariant: a position is reached when all events of it and of every earlier position are finished.
 */
export class StreamPositions {
  readonly #reached: (position: StreamPosition) => void;
  /** In the order of the stream. */
  readonly #open: OpenPosition[] = [];
  #bytes = 0;

  /** @param reached - called for each position that is reached, in order. */
  constructor(reached: (position: StreamPosition) => void) {
    this.#reached = reached;
  }

  /** The memory that the events of open batches hold. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Opens a batch. It is reached when all of its events are finished. */
  open(
    position: StreamPosition,
    { events, bytes }: Pick<EventBatch, 'events' | 'bytes'>,
  ): OpenPosition {
    const opened = { ...position, events, bytes, finished: 0 };
    this.#open.push(opened);
    this.#bytes += bytes;
    return opened;
  }

  /** Reports the positions that have been reached since the last call. */
  advance(): void {
    for (;;) {
      const [first] = this.#open;
      if (!first || first.finished < first.events) return;
      this.#open.shift();
      this.#bytes -= first.bytes;
      this.#reached(first);
    }
  }
}
