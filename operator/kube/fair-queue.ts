/** So many urgent keys of a namespace in a row, and then one that is not: nothing waits for ever. */
const maxUrgentInRow = 8;

interface Lane {
  readonly urgent: Set<string>;
  readonly waiting: Set<string>;
  /** Keys that were added while they were in hand, and whether that was urgent. */
  readonly again: Map<string, boolean>;
  readonly inHand: Set<string>;
  urgentInRow: number;
}

/**
 * Keys of objects (`namespace/name`), dealt out in turn to the namespaces that have any: how long a key waits depends on how
 * many namespaces are busy, and on what waits in its own, not on how much waits in another.
 * - A key that waits already is not added again.
 * - Within a namespace, what is urgent goes first, but for every ninth; otherwise keys keep the order in which they were added.
 * - A key that was taken is in hand until {@link done}: it is not given out meanwhile, and when it is added, it waits again
 *   afterwards, once.
 *
 * Each call takes the same time, however many keys and namespaces there are. Nothing is kept of a namespace without keys.
 */
export class FairQueue {
  readonly #maxPerNamespace: number;
  /** By namespace. */
  readonly #lanes = new Map<string, Lane>();
  /** The namespaces that may be given a key, in the order of their turns. */
  readonly #turns = new Set<string>();
  #size = 0;

  /** @param maxPerNamespace - how many keys of a namespace are in hand at the most; as many as are taken by default. */
  constructor(maxPerNamespace = Infinity) {
    this.#maxPerNamespace = maxPerNamespace;
  }

  /** How many keys wait and are not in hand. */
  get size(): number {
    return this.#size;
  }

  /** How many namespaces have keys, be they in hand. */
  get namespaces(): number {
    return this.#lanes.size;
  }

  /** Whether it was taken, and is not done. */
  isInHand(key: string): boolean {
    return this.#lanes.get(namespaceOf(key))?.inHand.has(key) === true;
  }

  /** So many keys are given out until a key is that has been added last, at the most; 0 where nothing of its namespace waits. */
  turnsUntil(key: string): number {
    const lane = this.#lanes.get(namespaceOf(key));
    return lane ? Math.min(this.#size, lengthOf(lane) * this.#turns.size) : 0;
  }

  /** @param isUrgent - whether it goes before those of its namespace that are not. One that waits already becomes so. */
  add(key: string, isUrgent = false): void {
    const namespace = namespaceOf(key);
    const lane = this.#lanes.get(namespace) ?? newLane();
    this.#lanes.set(namespace, lane);
    if (lane.inHand.has(key)) {
      lane.again.set(key, isUrgent || lane.again.get(key) === true);
      return;
    }
    this.#put(namespace, lane, key, isUrgent);
  }

  /** The next key, which is in hand until {@link done}; undefined while there is none that may be given out. */
  take(): string | undefined {
    const [namespace] = this.#turns;
    const lane = namespace === undefined ? undefined : this.#lanes.get(namespace);
    if (namespace === undefined || !lane) return undefined;
    const key = nextOf(lane);
    if (key === undefined) return undefined;
    this.#size -= 1;
    lane.inHand.add(key);
    this.#turns.delete(namespace);
    this.#queueUp(namespace, lane);
    return key;
  }

  /** The key is not in hand any more. If it was added meanwhile, it waits again. */
  done(key: string): void {
    const namespace = namespaceOf(key);
    const lane = this.#lanes.get(namespace);
    if (!lane?.inHand.delete(key)) return;
    const isUrgent = lane.again.get(key);
    if (isUrgent === undefined) this.#queueUp(namespace, lane);
    else {
      lane.again.delete(key);
      this.#put(namespace, lane, key, isUrgent);
    }
  }

  /** The key waits no more. One that is in hand stays so. */
  delete(key: string): void {
    const namespace = namespaceOf(key);
    const lane = this.#lanes.get(namespace);
    if (!lane) return;
    lane.again.delete(key);
    if (!lane.urgent.delete(key) && !lane.waiting.delete(key)) return;
    this.#size -= 1;
    if (lengthOf(lane) === 0) this.#turns.delete(namespace);
    this.#dropIfIdle(namespace, lane);
  }

  #put(namespace: string, lane: Lane, key: string, isUrgent: boolean): void {
    const isKnown = lane.urgent.has(key) || lane.waiting.has(key);
    if (!isKnown) this.#size += 1;
    if (isUrgent) {
      lane.waiting.delete(key);
      lane.urgent.add(key);
    } else if (!isKnown) {
      lane.waiting.add(key);
    }
    this.#queueUp(namespace, lane);
  }

  /** Gives the namespace its next turn after those of the others, where it has not got one and may have one. */
  #queueUp(namespace: string, lane: Lane): void {
    if (lengthOf(lane) > 0 && lane.inHand.size < this.#maxPerNamespace) this.#turns.add(namespace);
    else this.#dropIfIdle(namespace, lane);
  }

  #dropIfIdle(namespace: string, lane: Lane): void {
    if (lengthOf(lane) + lane.inHand.size === 0) this.#lanes.delete(namespace);
  }
}

/** Of a key; empty for one of an object of the cluster. */
function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')));
}

function newLane(): Lane {
  return {
    urgent: new Set(),
    waiting: new Set(),
    again: new Map(),
    inHand: new Set(),
    urgentInRow: 0,
  };
}

function lengthOf({ urgent, waiting }: Lane): number {
  return urgent.size + waiting.size;
}

function nextOf(lane: Lane): string | undefined {
  const isUrgent =
    lane.urgent.size > 0 && (lane.waiting.size === 0 || lane.urgentInRow < maxUrgentInRow);
  const keys = isUrgent ? lane.urgent : lane.waiting;
  const [key] = keys;
  if (key === undefined) return undefined;
  keys.delete(key);
  lane.urgentInRow = isUrgent ? lane.urgentInRow + 1 : 0;
  return key;
}
