/** After this many urgent keys of a namespace in a row comes one that is not urgent: nothing waits forever. */
const maxUrgentInRow = 8;

interface Lane {
  readonly urgent: Set<string>;
  readonly waiting: Set<string>;
  /** Keys that were added while in hand, and whether they are urgent. */
  readonly again: Map<string, boolean>;
  readonly inHand: Set<string>;
  urgentInRow: number;
}

/**
 * Keys of objects (`namespace/name`), dealt out in turn to the namespaces that have any: how long a key waits depends on how
 * many namespaces are busy, and on the backlog of its own, not on that of other namespaces.
 * - A key that is already waiting is not added again.
 * - Within a namespace, urgent keys go first, except for every ninth; otherwise keys keep the order in which they were added.
 * - A key that was taken is in hand until {@link done}: it is not given out meanwhile, and if it is added, it waits again
 *   afterwards, once.
 *
 * Each call takes constant time, however many keys and namespaces there are. Nothing is kept for a namespace without keys.
 */
export class FairQueue {
  readonly #maxPerNamespace: number;
  /** By namespace. */
  readonly #lanes = new Map<string, Lane>();
  /** The namespaces that may be given a key, in turn. */
  readonly #turns = new Set<string>();
  #size = 0;

  /** @param maxPerNamespace - how many keys of a namespace may be in hand; unlimited by default. */
  constructor(maxPerNamespace = Infinity) {
    this.#maxPerNamespace = maxPerNamespace;
  }

  /** How many keys are waiting and not in hand. */
  get size(): number {
    return this.#size;
  }

  /** How many namespaces have keys, waiting or in hand. */
  get namespaces(): number {
    return this.#lanes.size;
  }

  /** Whether it was taken, and is not done. */
  isInHand(key: string): boolean {
    return this.#lanes.get(namespaceOf(key))?.inHand.has(key) === true;
  }

  /** Upper bound of the keys given out until the key added last has been; 0 if nothing of its namespace waits. */
  turnsUntil(key: string): number {
    const lane = this.#lanes.get(namespaceOf(key));
    return lane ? Math.min(this.#size, lengthOf(lane) * this.#turns.size) : 0;
  }

  /** @param isUrgent - whether it goes before keys of its namespace that are not urgent. Also makes a waiting key urgent. */
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

  /** The next key, which is in hand until {@link done}; undefined while none may be given out. */
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

  /** The key is no longer in hand. If it was added meanwhile, it waits again. */
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

  /** The key no longer waits. If it is in hand, it stays so. */
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

  /** Puts the namespace at the end of the turns, unless it has one already or may not have one. */
  #queueUp(namespace: string, lane: Lane): void {
    if (lengthOf(lane) > 0 && lane.inHand.size < this.#maxPerNamespace) this.#turns.add(namespace);
    else this.#dropIfIdle(namespace, lane);
  }

  #dropIfIdle(namespace: string, lane: Lane): void {
    if (lengthOf(lane) + lane.inHand.size === 0) this.#lanes.delete(namespace);
  }
}

/** The namespace of a key; empty for a cluster-scoped object. */
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
