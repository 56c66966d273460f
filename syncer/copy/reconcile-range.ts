import type { Fingerprint, FingerprintReader } from '../../mongo/fingerprints.ts';
import type { IdRange } from '../../mongo/id-range.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { asBuffer, valueBytes, type RawElement } from '../../mongo/raw-bson.ts';
import { isRefused, isUnclear } from '../../mongo/server-errors.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { messageOf } from '../../service/errors.ts';
import { inGroupsWithin } from '../../service/groups.ts';
import type { Logger } from '../../service/logger.ts';
import type { Destination } from '../destination/destination.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { Comparison } from '../options/command-bodies.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';
import { putIdsAsTheyAre } from './put-as-they-are.ts';

/** Fingerprints of one side that are held at a time. */
const maxHeld = 20_000;

/** What the reconciler reports to, and how it compares. */
interface ReconcilerSettings {
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly comparison: () => Comparison;
}

/** A range of a collection whose documents may be on the destination already. */
export interface ReconciledRange {
  readonly collection: TrackedCollection;
  /** The collection's name on the source now. */
  readonly from: Namespace;
  readonly range: IdRange;
}

/** What reconciling a range has come to. */
interface Outcome {
  /** Documents of the source, and their bytes. */
  readonly documents: number;
  readonly bytes: number;
  /** Documents that differed, or that one side did not have. */
  readonly differing: number;
}

/** The documents of both sides: of the source, and of the destination. */
interface Sides<T> {
  readonly source: T;
  readonly destination: T;
}

/**
 * Makes the destination's documents equal to the source's without copying those that already are: both servers hash their
 * documents, and only those whose hashes differ are read and written, or deleted.
 *
 * This is as right as copying: afterwards each document of the range is on the destination as it was on the source at some time
 * since the start of the change events, or it is absent as it was then; nobody else writes there. A server without the hash has
 * its documents read.
 */
export class RangeReconciler {
  readonly #source: Source;
  readonly #destination: Destination;
  readonly #settings: ReconcilerSettings;

  constructor(source: Source, destination: Destination, settings: ReconcilerSettings) {
    this.#source = source;
    this.#destination = destination;
    this.#settings = settings;
  }

  /**
   * Reconciles a range. May be repeated from any point.
   * @returns the bytes of the source's documents.
   */
  async reconcile({ collection, from, range }: ReconciledRange): Promise<number> {
    const time = await this.#destination.timeNow();
    const sides = {
      source: this.#source.documents.fingerprints(collection, from, range),
      destination: this.#destination.documents.fingerprints(collection.namespace, range, time),
    };
    const { comparison, monitor } = this.#settings;
    const { documents, bytes, differing } =
      comparison() === 'bytes'
        ? await this.#reconcileByBytes(collection, sides)
        : await this.#reconcileByHashIfPossible(collection, sides);
    monitor.addReconciled(documents, bytes, differing);
    monitor.copyTally.addCopied(collection.uuid, bytes);
    return bytes;
  }

  async #reconcileByHashIfPossible(
    collection: TrackedCollection,
    sides: Sides<FingerprintReader>,
  ): Promise<Outcome> {
    try {
      return await this.#reconcileByHash(collection, sides);
    } catch (error) {
      // What the server makes to hash a document can be too large for it, where the document is not: the code says nothing.
      if (!isRefused(error) && !isUnclear(error)) throw error;
      const namespace = namespaceText(collection.namespace);
      this.#settings.logger.debug({ namespace, reason: messageOf(error) }, 'comparing by bytes');
      return await this.#reconcileByBytes(collection, sides);
    }
  }

  async #reconcileByHash(
    collection: TrackedCollection,
    sides: Sides<FingerprintReader>,
  ): Promise<Outcome> {
    const { source, destination } = await bothOf(sides, async (side) => await side.buckets());
    const documentsIn = (key: number): number =>
      Math.max(source.get(key)?.documents ?? 0, destination.get(key)?.documents ?? 0);
    const keys = new Set([...source.keys(), ...destination.keys()]);
    const differing = [...keys].filter((key) => {
      const [one, other] = [source.get(key), destination.get(key)];
      return one?.documents !== other?.documents || one?.sum !== other?.sum;
    });
    const limits = { maxItems: Infinity, maxBytes: maxHeld, bytesOf: documentsIn };
    let differences = 0;
    for (const group of inGroupsWithin(differing, limits))
      differences += await this.#bring(collection, sides, (side) => side.inBuckets(group));
    let [documents, bytes] = [0, 0];
    for (const bucket of source.values()) {
      documents += bucket.documents;
      bytes += bucket.bytes;
    }
    return { documents, bytes, differing: differences };
  }

  async #reconcileByBytes(
    collection: TrackedCollection,
    sides: Sides<FingerprintReader>,
  ): Promise<Outcome> {
    let [documents, bytes] = [0, 0];
    const differing = await this.#bring(collection, sides, async function* (side) {
      for await (const fingerprint of side.byBytes()) {
        if (side === sides.source) {
          documents += 1;
          bytes += fingerprint.bytes;
        }
        yield fingerprint;
      }
    });
    return { documents, bytes, differing };
  }

  /** Puts the documents that differ as they are on the source. Returns how many there were. */
  async #bring(
    collection: TrackedCollection,
    sides: Sides<FingerprintReader>,
    read: (side: FingerprintReader) => AsyncGenerator<Fingerprint, void>,
  ): Promise<number> {
    const { source, destination } = await bothOf(sides, async (side) => await hashesOf(read(side)));
    const ids: RawElement[] = [];
    for (const [key, { id, hash }] of source) if (destination.get(key)?.hash !== hash) ids.push(id);
    for (const [key, { id }] of destination) if (!source.has(key)) ids.push(id);
    await putIdsAsTheyAre(this.#source, this.#destination, collection, ids);
    return ids.length;
  }
}

/** The hashes by `_id`. If shards have several documents of one `_id`, it has the sum of their hashes. */
async function hashesOf(
  fingerprints: AsyncGenerator<Fingerprint, void>,
): Promise<ReadonlyMap<string, Fingerprint>> {
  const hashes = new Map<string, Fingerprint>();
  for await (const { id, hash } of fingerprints) {
    const value = Uint8Array.from(valueBytes(id));
    const key = `${id.type}:${asBuffer(value).toString('latin1')}`;
    const other = hashes.get(key)?.hash ?? 0n;
    const own = { ...id, bytes: value, offset: 0, length: value.length };
    hashes.set(key, { id: own, hash: hash + other });
  }
  return hashes;
}

/** Asks both sides at the same time. */
async function bothOf<T, R>(sides: Sides<T>, ask: (side: T) => Promise<R>): Promise<Sides<R>> {
  const answers = new Map<T, R>();
  await forEachConcurrently([sides.source, sides.destination], 2, async (side) => {
    answers.set(side, await ask(side));
  });
  const of = (side: T): R => {
    const answer = answers.get(side);
    if (answer === undefined) throw new Error('a side has not been asked');
    return answer;
  };
  return { source: of(sides.source), destination: of(sides.destination) };
}
