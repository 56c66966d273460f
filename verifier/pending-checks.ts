import { namespaceText, type Namespace } from '../mongo/namespace.ts';
import { idDocument, type IdKey } from './compare/id-key.ts';

/** What is to be compared again of one namespace. */
export interface PendingNamespace {
  readonly namespace: Namespace;
  /** True: options and indexes. */
  readonly metadata: boolean;
  /** True: every document, and options and indexes. */
  readonly whole: boolean;
  /** Otherwise the documents of these ids. */
  readonly ids: ReadonlySet<IdKey>;
}

/** What is to be compared again. */
export interface Pending {
  readonly namespaces: readonly PendingNamespace[];
  /** Databases that were dropped: each of their namespaces, on either side. */
  readonly databases: ReadonlySet<string>;
}

interface Entry {
  readonly namespace: Namespace;
  metadata: boolean;
  whole: boolean;
  ids: Set<IdKey>;
  idsLength: number;
}

/** Bounds of what is remembered: beyond them a namespace is compared as a whole. */
export interface PendingLimits {
  readonly idsPerNamespace: number;
  /** Characters of all ids together. */
  readonly totalLength: number;
}

const defaultLimits: PendingLimits = { idsPerNamespace: 100_000, totalLength: 32 * 1024 * 1024 };

/** Collects what is to be compared again: documents that changed on either side, and differences. Bounded. */
export class PendingChecks {
  readonly #limits: PendingLimits;
  readonly #onAdded: () => void;
  #entries = new Map<string, Entry>();
  #databases = new Set<string>();
  #totalLength = 0;

  /** @param onAdded - called after each addition. */
  constructor(onAdded: () => void = () => undefined, limits = defaultLimits) {
    this.#onAdded = onAdded;
    this.#limits = limits;
  }

  /** How many documents, whole namespaces and sets of options and indexes wait. */
  get count(): number {
    let count = this.#databases.size;
    for (const { whole, metadata, ids } of this.#entries.values()) {
      count += whole ? 1 : ids.size + (metadata ? 1 : 0);
    }
    return count;
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0 && this.#databases.size === 0;
  }

  addId(namespace: Namespace, id: IdKey): void {
    const entry = this.#entry(namespace);
    if (entry.whole || entry.ids.has(id)) return;
    if (entry.ids.size >= this.#limits.idsPerNamespace || idDocument(id) === undefined) {
      this.#makeWhole(entry);
    } else {
      entry.ids.add(id);
      entry.idsLength += id.length;
      this.#totalLength += id.length;
      if (this.#totalLength > this.#limits.totalLength) this.#makeWhole(this.#largest(entry));
    }
    this.#onAdded();
  }

  addMetadata(namespace: Namespace): void {
    this.#entry(namespace).metadata = true;
    this.#onAdded();
  }

  addWhole(namespace: Namespace): void {
    this.#makeWhole(this.#entry(namespace));
    this.#onAdded();
  }

  addDatabase(db: string): void {
    this.#databases.add(db);
    this.#onAdded();
  }

  /** Everything that was added, which is forgotten here. */
  take(): Pending {
    const pending = { namespaces: [...this.#entries.values()], databases: this.#databases };
    this.#entries = new Map();
    this.#databases = new Set();
    this.#totalLength = 0;
    return pending;
  }

  #entry(namespace: Namespace): Entry {
    const name = namespaceText(namespace);
    let entry = this.#entries.get(name);
    if (!entry) {
      entry = { namespace, metadata: false, whole: false, ids: new Set(), idsLength: 0 };
      this.#entries.set(name, entry);
    }
    return entry;
  }

  #makeWhole(entry: Entry): void {
    this.#totalLength -= entry.idsLength;
    entry.whole = true;
    entry.metadata = true;
    entry.ids = new Set();
    entry.idsLength = 0;
  }

  #largest(fallback: Entry): Entry {
    let largest = fallback;
    for (const entry of this.#entries.values()) {
      if (entry.idsLength > largest.idsLength) largest = entry;
    }
    return largest;
  }
}
