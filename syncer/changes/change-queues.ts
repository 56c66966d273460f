import type { EventBatch } from '../monitor/monitor.ts';
import type { ConcurrencyLimit } from '../../service/concurrency-limit.ts';
import { StreamPositions, type OpenPosition, type StreamPosition } from './stream-positions.ts';

/** What is applied, and how much of it at a time. A queue is identified by `Key`, such as a collection. */
export interface QueuesOptions<Key, Change> {
  /** How many batches are under way at the same time, over all queues. */
  readonly limit: ConcurrencyLimit;
  /** How many batches may be under way, and changes be in one of them, at most: whatever the limit finds. */
  readonly most?: () => { readonly batches: number; readonly changes: number };
  /** The size of a batch, which depends on how much there is to do; but not of a queue in order: that gives `maxChanges`. */
  readonly minChanges: number;
  readonly maxChanges: number;
  /** A batch takes no more changes once they have so many bytes, or their part of what all batches may have together. */
  readonly minBytes: number;
  readonly maxBytesOfAll: number;
  readonly bytesOf: (change: Change) => number;
  /** What the server takes for one document has one name. */
  readonly documentOf: (change: Change) => string;
  /** True for a queue that has one batch under way at a time. */
  readonly isInOrder: (key: Key) => boolean;
  /** Applies changes of one queue, in order. */
  readonly apply: (key: Key, changes: readonly Change[]) => Promise<void>;
  /** Called for each position that is reached, in order. */
  readonly reached: (position: StreamPosition) => void;
  /** Called once, for the first error of `apply`. Nothing more is applied. */
  readonly failed: (error: unknown) => void;
}

const unbounded = () => ({ batches: Infinity, changes: Infinity });

interface Entry<Change> {
  readonly change: Change;
  /** Rises in the order in which changes were added. */
  readonly number: number;
  readonly position: OpenPosition;
}

interface Queue<Key, Change> {
  readonly key: Key;
  readonly isInOrder: boolean;
  /** In the order of their numbers. */
  waiting: Entry<Change>[];
  /** For each document of the batches that are under way, the changes that were looked at since and wait for that, in order. */
  readonly heldUp: Map<string, Entry<Change>[]>;
  /** In the list of those to take from. */
  isReady: boolean;
}

/**
 * Applies changes, many batches at the same time, over queues and within one. A batch takes what has come to its queue in the
 * meantime, so batches are small when there is little to do and large when there is much.
 *
 * The invariant: of one document, changes are applied in the order in which they were added, and never by two batches at the
 * same time; in a queue that is in order, that holds for all changes. Everything else has no order.
 */
export class ChangeQueues<Key, Change> {
  readonly #options: QueuesOptions<Key, Change>;
  readonly #positions: StreamPositions;
  /** Those that have something waiting or under way. */
  readonly #queues = new Map<Key, Queue<Key, Change>>();
  /** In turn, so that no queue waits for another one with more to do. */
  readonly #ready: Queue<Key, Change>[] = [];
  /** The batches that are under way. */
  readonly #running = new Set<Promise<void>>();
  #wake: (() => void)[] = [];
  #failure: { readonly error: unknown } | undefined;
  #isStopped = false;
  #added = 0;
  /** Waiting or under way. */
  #changes = 0;

  constructor(options: QueuesOptions<Key, Change>) {
    this.#options = options;
    this.#positions = new StreamPositions(options.reached);
  }

  /** Opens a batch of the stream. It is reached when all of its events have been added and applied, or skipped. */
  open(position: StreamPosition, size: Pick<EventBatch, 'events' | 'bytes'>): OpenPosition {
    return this.#positions.open(position, size);
  }

  /** Adds a change of an open batch of the stream to a queue. */
  add(key: Key, change: Change, position: OpenPosition): void {
    let queue = this.#queues.get(key);
    if (!queue) {
      const isInOrder = this.#options.isInOrder(key);
      queue = { key, isInOrder, waiting: [], heldUp: new Map(), isReady: false };
      this.#queues.set(key, queue);
    }
    queue.waiting.push({ change, number: this.#added++, position });
    this.#changes++;
    this.#makeReady(queue);
  }

  /** Skips events of an open batch of the stream. */
  skip(position: OpenPosition, events: number): void {
    position.finished += events;
  }

  /** Starts what was added, as far as the limit permits, and reports what has been reached. */
  start(): void {
    this.#startBatches();
    this.#advance();
  }

  /** Resolves when everything added has been applied. @throws the error of `apply`. */
  async drain(): Promise<void> {
    this.start();
    await this.#until(() => this.#changes === 0);
  }

  /** Resolves when the memory held is below a limit. @throws the error of `apply`. */
  async roomBelow(bytes: number): Promise<void> {
    await this.#until(() => this.#positions.bytes < bytes);
  }

  /** Starts nothing more, and waits for what is running. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }

  /** Puts a queue in the list of those to take from, if there is something that may be taken. */
  #makeReady(queue: Queue<Key, Change>): void {
    const { waiting, heldUp, isInOrder, isReady } = queue;
    if (isReady || waiting.length === 0 || (isInOrder && heldUp.size > 0)) return;
    queue.isReady = true;
    this.#ready.push(queue);
  }

  #startBatches(): void {
    const { limit, most = unbounded } = this.#options;
    while (!this.#isStopped && this.#running.size < Math.min(limit.current, most().batches)) {
      const queue = this.#ready.shift();
      if (!queue) {
        limit.hadRoom();
        return;
      }
      queue.isReady = false;
      const batch = this.#take(queue);
      if (batch.length === 0) continue;
      const running = this.#run(queue, batch).finally(() => {
        this.#running.delete(running);
        this.start();
      });
      this.#running.add(running);
      this.#makeReady(queue);
    }
  }

  /**
   * Takes the next changes out of a queue: of each document that is not under way, the first that wait, in order. Others that it
   * meets are held up, and come back when their document is no longer under way.
   */
  #take({ waiting, heldUp, isInOrder }: Queue<Key, Change>): readonly Entry<Change>[] {
    const { limit, minChanges, maxChanges, bytesOf, documentOf } = this.#options;
    const { minBytes, maxBytesOfAll, most = unbounded } = this.#options;
    // Two for each that may be under way: with one, what is left runs out while the batches of the oldest changes end.
    const share = Math.ceil(this.#changes / (2 * limit.current));
    const wanted = isInOrder ? maxChanges : Math.min(maxChanges, Math.max(minChanges, share));
    const count = Math.min(wanted, most().changes);
    const maxBytes = Math.max(minBytes, maxBytesOfAll / limit.current);
    const taken: Entry<Change>[] = [];
    let seen = 0;
    for (let bytes = 0; taken.length < count && bytes < maxBytes; seen++) {
      const entry = waiting[seen];
      if (!entry) break;
      const held = heldUp.get(documentOf(entry.change));
      if (held) {
        held.push(entry);
        continue;
      }
      taken.push(entry);
      bytes += bytesOf(entry.change);
    }
    waiting.splice(0, seen);
    return taken;
  }

  async #run(queue: Queue<Key, Change>, batch: readonly Entry<Change>[]): Promise<void> {
    const { apply, documentOf, failed, limit } = this.#options;
    const names = new Set(batch.map(({ change }) => documentOf(change)));
    for (const name of names) queue.heldUp.set(name, []);
    try {
      const changes = batch.map(({ change }) => change);
      await apply(queue.key, changes);
    } catch (error) {
      this.#isStopped = true;
      if (this.#failure) return;
      this.#failure = { error };
      failed(error);
      return;
    }
    const released = [...names].flatMap((name) => queue.heldUp.get(name) ?? []);
    for (const name of names) queue.heldUp.delete(name);
    if (released.length > 0) queue.waiting = merged(released, queue.waiting);
    for (const { position } of batch) position.finished++;
    this.#changes -= batch.length;
    this.#makeReady(queue);
    if (queue.waiting.length + queue.heldUp.size === 0) this.#queues.delete(queue.key);
    limit.completed(batch.length);
  }

  #advance(): void {
    this.#positions.advance();
    const wake = this.#wake;
    this.#wake = [];
    for (const resolve of wake) resolve();
  }

  async #until(isReached: () => boolean): Promise<void> {
    for (;;) {
      if (this.#failure) throw this.#failure.error;
      if (isReached()) return;
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }
}

/**
 * Changes that are no longer held up, and those that wait, in the order in which they were added: the oldest first, or documents
 * that are written all the time would keep others, and the checkpoint, waiting.
 */
function merged<Change>(
  released: readonly Entry<Change>[],
  waiting: readonly Entry<Change>[],
): Entry<Change>[] {
  const all: Entry<Change>[] = [];
  let at = 0;
  for (const entry of released.toSorted((one, other) => one.number - other.number)) {
    for (let next = waiting[at]; next && next.number < entry.number; next = waiting[++at])
      all.push(next);
    all.push(entry);
  }
  return all.concat(waiting.slice(at));
}
