import type { Timestamp } from 'mongodb';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import type { EventBatch } from '../monitor/monitor.ts';
import { hashText } from '../../mongo/canonical-id.ts';
import type { DocumentChange, DocumentEvent } from '../source/change-event.ts';
import { isAppliedInOrder, type TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';

/** One batch of the change stream: what is known once its changes, and all before it, are on the destination. */
export interface StreamPosition {
  readonly token: RawDocument;
  readonly time: Timestamp;
}

/** A batch that is being applied. */
export type OpenPosition = StreamPosition & EventBatch;

/** What lanes do, and how much at a time. */
export interface LanesOptions<Change> {
  readonly lanes: number;
  /** How many changes a lane applies at a time, at most. */
  readonly maxChanges: number;
  /** A lane takes no more changes once they have this many bytes. */
  readonly maxBytes: number;
  readonly bytesOf: (change: Change) => number;
  /** Applies changes of one lane, in order. */
  readonly apply: (changes: readonly Change[]) => Promise<void>;
  /** Called for each position that is reached, in order. */
  readonly reached: (position: StreamPosition) => void;
  /** Called once, for the first error of `apply`. Nothing more is applied. */
  readonly failed: (error: unknown) => void;
}

interface Lane<Change> {
  waiting: { readonly change: Change; readonly position: OpenPosition }[];
  /** Undefined while the lane is idle. */
  running: Promise<void> | undefined;
}

/**
 * Applies changes side by side, in lanes. A lane takes everything that has come to it while it was busy, so batches are small
 * when there is little to do and large when there is much.
 *
 * The invariant: changes given to one lane are applied in the order in which they were added, none before all those earlier in
 * its lane; a position is reached when all events of it and of every earlier position are finished. Between lanes there is no
 * order. The caller gives all changes of one document to one lane.
 */
export class ChangeLanes<Change> {
  readonly #options: LanesOptions<Change>;
  readonly #lanes: Lane<Change>[];
  /** Batches that have not been reached, in the order of the stream. */
  readonly #positions: OpenPosition[] = [];
  #wake: (() => void)[] = [];
  #failure: { readonly error: unknown } | undefined;
  #isStopped = false;
  #events = 0;
  #bytes = 0;

  constructor(options: LanesOptions<Change>) {
    this.#options = options;
    this.#lanes = Array.from({ length: options.lanes }, () => ({
      waiting: [],
      running: undefined,
    }));
  }

  /** Opens a batch of the stream. It is reached when all of its events have been added and applied, or skipped. */
  open(
    position: StreamPosition,
    { events, bytes }: Pick<EventBatch, 'events' | 'bytes'>,
  ): OpenPosition {
    const opened = { ...position, events, bytes, finished: 0 };
    this.#positions.push(opened);
    this.#bytes += bytes;
    return opened;
  }

  /** Adds a change of an open batch to a lane. */
  add(lane: number, change: Change, position: OpenPosition): void {
    this.#lanes[lane]?.waiting.push({ change, position });
    this.#events++;
  }

  /** Skips an event of an open batch. */
  pass(position: OpenPosition): void {
    position.finished++;
  }

  /** Lets idle lanes start with what was added, and reports what has been reached. */
  start(): void {
    for (const lane of this.#lanes) {
      if (lane.running || lane.waiting.length === 0) continue;
      lane.running = this.#run(lane);
    }
    this.#advance();
  }

  /** Resolves when everything added has been applied. @throws the error of `apply`. */
  async drain(): Promise<void> {
    this.start();
    await this.#until(() => this.#events === 0);
  }

  /** Resolves when the memory held is below a limit. @throws the error of `apply`. */
  async roomBelow(bytes: number): Promise<void> {
    await this.#until(() => this.#bytes < bytes);
  }

  /** Starts nothing more, and waits for what is running. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#lanes.map(async ({ running }) => await running));
  }

  async #run(lane: Lane<Change>): Promise<void> {
    try {
      while (lane.waiting.length > 0 && !this.#isStopped) {
        const taken = this.#take(lane);
        await this.#options.apply(taken.map(({ change }) => change));
        for (const { position } of taken) position.finished++;
        this.#events -= taken.length;
        this.#advance();
      }
    } catch (error) {
      this.#isStopped = true;
      if (this.#failure) return;
      this.#failure = { error };
      this.#options.failed(error);
      this.#advance();
    } finally {
      // At once: what is added from now on needs another run.
      lane.running = undefined;
    }
  }

  #take(lane: Lane<Change>): Lane<Change>['waiting'] {
    const { maxChanges, maxBytes, bytesOf } = this.#options;
    let count = 0;
    for (let bytes = 0; count < maxChanges && bytes < maxBytes; count++) {
      const next = lane.waiting[count];
      if (!next) break;
      bytes += bytesOf(next.change);
    }
    if (count < lane.waiting.length) return lane.waiting.splice(0, count);
    const all = lane.waiting;
    lane.waiting = [];
    return all;
  }

  #advance(): void {
    for (;;) {
      const [first] = this.#positions;
      if (!first || first.finished < first.events) break;
      this.#positions.shift();
      this.#bytes -= first.bytes;
      this.#options.reached(first);
    }
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

/** A change with its collection, and its lane. */
export interface RoutedChange {
  readonly collection: TrackedCollection;
  readonly change: DocumentChange;
  readonly lane: number;
}

interface Route {
  readonly collection: TrackedCollection;
  /** The lane of all changes of the collection; undefined if the documents decide. */
  readonly lane: number | undefined;
}

/**
 * Chooses the lane of each change by the canonical `_id`, so that all changes of what the server considers one document are in
 * one lane. A collection whose changes must be applied in order (isAppliedInOrder) has one lane.
 */
export class ChangeRouter {
  readonly #catalog: TrackedCatalog;
  readonly #lanes: number;
  readonly #routes = new Map<string, Route | undefined>();

  constructor(catalog: TrackedCatalog, lanes: number) {
    this.#catalog = catalog;
    this.#lanes = lanes;
  }

  /** Undefined for a collection that is not tracked: outside the filter, or dropped before the catalog was read. */
  route({ collection: uuid, change }: DocumentEvent): RoutedChange | undefined {
    let route = this.#routes.get(uuid);
    if (!route && !this.#routes.has(uuid)) {
      route = this.#routeOf(uuid);
      this.#routes.set(uuid, route);
    }
    if (!route) return undefined;
    const lane = route.lane ?? hashText(change.key.canonical) % this.#lanes;
    return { collection: route.collection, change, lane };
  }

  /** To be called when the catalog has changed. */
  forget(): void {
    this.#routes.clear();
  }

  #routeOf(uuid: string): Route | undefined {
    const collection = this.#catalog.collection(uuid);
    if (!collection) return undefined;
    return {
      collection,
      lane: isAppliedInOrder(collection) ? hashText(uuid) % this.#lanes : undefined,
    };
  }
}
