import { Binary, type Timestamp } from 'mongodb';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import {
  documentValue,
  elementsOf,
  textValue,
  type RawDocument,
  type RawElement,
} from '../../mongo/raw-bson.ts';
import { Mutex } from '../../service/mutex.ts';
import { keyOfElement, type IdKey } from '../compare/id-key.ts';
import type { SideName, Sides } from '../../mongo/sides.ts';
import { bundles, defaultBundleLimits, type BundleLimits } from '../store/recheck-store.ts';
import type { Position, Recheck, Tally } from '../store/records.ts';

/** The effect of a change on the number of documents: one more, one less, or none. */
export type DocumentEffect = 'insert' | 'delete' | 'update';

/** The meaning of a change event for a comparison. */
export type ObservedChange =
  | {
      readonly kind: 'document';
      readonly namespace: Namespace;
      readonly id: IdKey;
      readonly effect: DocumentEffect;
    }
  | { readonly kind: 'metadata'; readonly namespace: Namespace }
  | { readonly kind: 'whole'; readonly namespaces: readonly Namespace[] }
  | { readonly kind: 'database'; readonly db: string };

/** The fields of an event that `observedChange` needs, as a $project stage. */
export const neededFields = { operationType: 1, ns: 1, to: 1, documentKey: 1 } as const;

/**
 * Reads a change event, of which only `neededFields` have to be present.
 * @throws MalformedAnswer if it lacks one that its kind has.
 */
export function observedChange(event: RawDocument): ObservedChange {
  let operationType: string | undefined;
  let ns: RawElement | undefined;
  let to: RawElement | undefined;
  let documentKey: RawElement | undefined;
  for (const element of elementsOf(event)) {
    if (element.name === 'operationType') operationType = textValue(element);
    else if (element.name === 'ns') ns = element;
    else if (element.name === 'to') to = element;
    else if (element.name === 'documentKey') documentKey = element;
  }
  if (operationType === undefined)
    throw new MalformedAnswer('a change event without operationType');
  const { db, coll } = namespaceOf(ns);
  if (operationType === 'dropDatabase' || coll === undefined) return { kind: 'database', db };
  const namespace = { db, coll };
  switch (operationType) {
    case 'insert':
    case 'delete':
      return { kind: 'document', namespace, id: idOf(documentKey), effect: operationType };
    case 'update':
    case 'replace':
      return { kind: 'document', namespace, id: idOf(documentKey), effect: 'update' };
    // These change no document.
    case 'createIndexes':
    case 'dropIndexes':
    case 'modify':
    case 'refineCollectionShardKey':
      return { kind: 'metadata', namespace };
    default: {
      const target = to && namespaceOf(to);
      return target?.coll === undefined
        ? { kind: 'whole', namespaces: [namespace] }
        : { kind: 'whole', namespaces: [namespace, { db: target.db, coll: target.coll }] };
    }
  }
}

function namespaceOf(element: RawElement | undefined): { db: string; coll: string | undefined } {
  let db: string | undefined;
  let coll: string | undefined;
  for (const part of element ? elementsOf(documentValue(element)) : []) {
    if (part.name === 'db') db = textValue(part);
    else if (part.name === 'coll') coll = textValue(part);
  }
  if (db === undefined) throw new MalformedAnswer('a change event without a namespace');
  return { db, coll };
}

function idOf(documentKey: RawElement | undefined): IdKey {
  const elements = documentKey ? elementsOf(documentValue(documentKey)) : [];
  const id = elements.find(({ name }) => name === '_id');
  if (!id) throw new MalformedAnswer('a change event without a document key');
  return keyOfElement(id);
}

/** Bounds of what is held in memory. */
export interface LogLimits extends BundleLimits {
  /** Ids, and their characters, that wait to be stored. */
  readonly waitingIds: number;
  readonly waitingLength: number;
  /** Characters of the ids known to be stored for the coming pass: beyond that, some are stored twice. */
  readonly knownLength: number;
}

const defaultLimits: LogLimits = {
  ...defaultBundleLimits,
  waitingIds: 20_000,
  waitingLength: 4 * 1024 * 1024,
  knownLength: 16 * 1024 * 1024,
};

/** Where a log writes. */
export interface LogStore {
  /** Notes rechecks for a pass. */
  readonly add: (generation: number, rechecks: readonly Recheck[]) => Promise<void>;
  /** Adds, by namespace, to the inserts and deletes since a pass was planned. */
  readonly addTallies: (generation: number, tallies: ReadonlyMap<string, Tally>) => Promise<void>;
  /** Records how far the streams have been read. */
  readonly setPositions: (positions: Sides<Position | null>) => Promise<void>;
}

interface GrowingTally extends Tally {
  readonly inserted: Record<SideName, number>;
  readonly deleted: Record<SideName, number>;
}

interface Waiting {
  readonly namespace: Namespace;
  readonly ids: Set<IdKey>;
  isMetadata: boolean;
  isWhole: boolean;
}

/**
 * The events of both sides' change streams, on their way to the metadata store. A position is stored only after all changes
 * before it: a process that continues from a stored position misses none. A log that failed to store something is unusable: what it
 * held is lost, so it stores no position after that. Another log reads the changes again from the stored position.
 */
export class ChangeLog {
  readonly #store: LogStore;
  readonly #limits: LogLimits;
  readonly #mutex = new Mutex();
  readonly #positions: Record<SideName, Position | null>;
  #waiting = new Map<string, Waiting>();
  #databases = new Set<string>();
  #tallies = new Map<string, GrowingTally>();
  #waitingIds = 0;
  #waitingLength = 0;
  #known = new Set<string>();
  #knownLength = 0;
  /** The pass for which changes are noted. */
  #generation: number;
  /** Why accepted changes could not be stored. */
  #failure: { readonly error: unknown } | undefined;

  /** @param generation - the pass for which changes are noted. */
  constructor(
    store: LogStore,
    start: { readonly generation: number; readonly positions: Sides<Position | null> },
    limits = defaultLimits,
  ) {
    this.#store = store;
    this.#limits = limits;
    this.#generation = start.generation;
    this.#positions = { ...start.positions };
  }

  /** True if waiting changes should be stored before more is read. */
  get isFull(): boolean {
    const { waitingIds, waitingLength } = this.#limits;
    return this.#waitingIds >= waitingIds || this.#waitingLength >= waitingLength;
  }

  /** True if something could not be stored: then nothing more is stored. */
  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  get isEmpty(): boolean {
    return this.#waiting.size + this.#databases.size + this.#tallies.size === 0;
  }

  /** Accepts the next changes of a side, after which its stream has reached a position. */
  take(
    side: SideName,
    changes: readonly ObservedChange[],
    { token, time }: { readonly token: RawDocument; readonly time: Timestamp },
  ): void {
    for (const change of changes) this.#note(side, change);
    this.#positions[side] = { token: new Binary(Uint8Array.from(token)), time };
  }

  /** Stores waiting changes, and the positions that belong to them. */
  async flush(): Promise<void> {
    await this.#mutex.run(async () => {
      await this.#storeWaiting();
    });
  }

  /**
   * Stores waiting changes; later ones are noted for the next pass.
   * @returns how far the streams were read when the pass was closed.
   */
  async close(): Promise<Sides<Position | null>> {
    return await this.#mutex.run(async () => {
      const positions = { ...this.#positions };
      const stored = this.#storeWaiting();
      this.#generation += 1;
      this.#forgetKnown();
      await stored;
      return positions;
    });
  }

  async #storeWaiting(): Promise<void> {
    if (this.#failure) throw this.#failure.error;
    const rechecks = this.#takeWaiting();
    const positions = { ...this.#positions };
    const generation = this.#generation;
    const tallies = this.#tallies;
    this.#tallies = new Map();
    try {
      await this.#store.add(generation, rechecks);
      await this.#store.addTallies(generation, tallies);
      await this.#store.setPositions(positions);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  #note(side: SideName, change: ObservedChange): void {
    switch (change.kind) {
      case 'document':
        this.#tally(side, change);
        this.#noteId(change.namespace, change.id);
        break;
      case 'metadata':
        this.#of(change.namespace).isMetadata = true;
        break;
      case 'whole':
        for (const namespace of change.namespaces) this.#of(namespace).isWhole = true;
        break;
      case 'database':
        this.#databases.add(change.db);
        break;
    }
  }

  #tally(side: SideName, { namespace, effect }: ObservedChange & { kind: 'document' }): void {
    if (effect === 'update') return;
    const name = namespaceText(namespace);
    let tally = this.#tallies.get(name);
    if (!tally) {
      const none = (): Record<SideName, number> => ({ source: 0, destination: 0 });
      tally = { inserted: none(), deleted: none() };
      this.#tallies.set(name, tally);
    }
    tally[effect === 'insert' ? 'inserted' : 'deleted'][side] += 1;
  }

  #noteId(namespace: Namespace, id: IdKey): void {
    const known = `${namespaceText(namespace)}\0${id}`;
    if (this.#known.has(known)) return;
    const waiting = this.#of(namespace);
    if (id.length > this.#limits.bundleLength) {
      waiting.isWhole = true;
      return;
    }
    waiting.ids.add(id);
    this.#waitingIds += 1;
    this.#waitingLength += id.length;
    if (this.#knownLength > this.#limits.knownLength) this.#forgetKnown();
    this.#known.add(known);
    this.#knownLength += known.length;
  }

  #forgetKnown(): void {
    this.#known = new Set();
    this.#knownLength = 0;
  }

  #of(namespace: Namespace): Waiting {
    const name = namespaceText(namespace);
    let waiting = this.#waiting.get(name);
    if (!waiting) {
      waiting = { namespace, ids: new Set(), isMetadata: false, isWhole: false };
      this.#waiting.set(name, waiting);
    }
    return waiting;
  }

  #takeWaiting(): Recheck[] {
    const rechecks: Recheck[] = [];
    for (const db of this.#databases) rechecks.push({ kind: 'database', db });
    for (const { namespace, ids, isMetadata, isWhole } of this.#waiting.values()) {
      if (isWhole) rechecks.push({ kind: 'whole', namespace });
      else if (isMetadata) rechecks.push({ kind: 'metadata', namespace });
      if (!isWhole) rechecks.push(...bundles(namespace, ids, this.#limits));
    }
    this.#databases = new Set();
    this.#waiting = new Map();
    this.#waitingIds = 0;
    this.#waitingLength = 0;
    return rechecks;
  }
}
