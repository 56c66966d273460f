import type { DocumentKey } from '../../mongo/document-key.ts';
import { valueBytes, type RawElement } from '../../mongo/raw-bson.ts';
import { sizeOfChange, type DocumentChange } from '../source/change-event.ts';

/** What the objects of a queued change take in addition to its bytes and texts (measured with 100,000 changes, Node.js 24). */
const objectBytes = 430;

/** Changes that share no memory with their events. */
export interface CompactChanges {
  /** In the same order. */
  readonly changes: readonly DocumentChange[];
  /** The memory that they hold. */
  readonly bytes: number;
}

/**
 * Copies what changes need out of their events, which then no longer stay in memory: an event also names its collection, times
 * and resume token, and describes an update twice.
 */
export function compactChanges(changes: readonly DocumentChange[]): CompactChanges {
  const copy = new Copy(changes.reduce((sum, change) => sum + bytesOf(change), 0));
  const copied = changes.map((change): DocumentChange => {
    const key = copy.key(change.key);
    switch (change.kind) {
      case 'insert':
      case 'replace':
        return { kind: change.kind, key, document: copy.bytes(change.document) };
      case 'update':
        return { kind: change.kind, key, diff: copy.element(change.diff) };
      case 'delete':
        return { kind: change.kind, key };
    }
  });
  const texts = changes.reduce((sum, { key }) => sum + textBytesOf(key), 0);
  return { changes: copied, bytes: copy.length + texts + changes.length * objectBytes };
}

function bytesOf(change: DocumentChange): number {
  const { id, placed } = change.key;
  const valueLength = change.kind === 'delete' ? 0 : sizeOfChange(change);
  return id.length + (placed?.length ?? 0) + valueLength;
}

/** Both are the same text for an ObjectId. */
function textBytesOf({ exact, canonical }: DocumentKey): number {
  return exact.length + (canonical === exact ? 0 : canonical.length);
}

/** One piece of memory that values are copied to, one after the other. */
class Copy {
  readonly #memory: Uint8Array;
  #used = 0;

  constructor(length: number) {
    this.#memory = Buffer.allocUnsafeSlow(length);
  }

  get length(): number {
    return this.#memory.length;
  }

  bytes(from: Uint8Array): Uint8Array {
    const offset = this.#add(from);
    return this.#memory.subarray(offset, offset + from.length);
  }

  element(element: RawElement): RawElement {
    return { ...element, bytes: this.#memory, offset: this.#add(valueBytes(element)) };
  }

  key({ id, placed, ...texts }: DocumentKey): DocumentKey {
    return { ...texts, id: this.element(id), placed: placed && this.bytes(placed) };
  }

  #add(from: Uint8Array): number {
    const offset = this.#used;
    this.#memory.set(from, offset);
    this.#used += from.length;
    return offset;
  }
}
