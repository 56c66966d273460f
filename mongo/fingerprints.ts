import { hash } from 'node:crypto';
import { Long, type Document, type ReadPreferenceMode, type UUID } from 'mongodb';
import type { ClusterClient } from './cluster-client.ts';
import { idRangeQueries, type IdRange } from './id-range.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import type { Namespace } from './namespace.ts';
import {
  asBuffer,
  bsonType,
  elementsOf,
  idElement,
  type RawDocument,
  type RawElement,
} from './raw-bson.ts';
import { RawCursor } from './raw-cursor.ts';
import { RawValue } from './raw-value.ts';
import { codeOf, isRefused, isUnclear, serverCode } from './server-errors.ts';
import { encodeSpec } from './specification.ts';

/** The documents whose fingerprints are read, as in a find command. */
export interface FingerprintQuery {
  readonly namespace: Namespace;
  readonly range: IdRange;
  readonly readConcern: Document;
  /** Refuse if the collection of this name has another UUID. */
  readonly collectionUUID?: UUID;
  /** Which members may be read; by default the primary. */
  readonly readPreference?: ReadPreferenceMode;
}

/**
 * A document's hash, made by the server: of its values and field names in their order (as a KeyString), and of its size in
 * bytes. Two documents that differ have the same hash only by chance (1 in 2^64), or if they are of the same size and differ only in
 * how numbers of the same value are stored (int64 5 and double 5, 0 and -0, decimal128 1.0 and 1.00, the bits of a NaN), a string that
 * is a symbol, or the names of an array's elements. Known by trying on 6.0.27 and 7.0.28, in `fingerprints.integration.ts`; 6.0.5 has no
 * `$_internalKeyStringValue`, and refuses.
 */
const documentHash = {
  $toHashedIndexKey: {
    k: { $_internalKeyStringValue: { input: '$$ROOT' } },
    s: { $bsonSize: '$$ROOT' },
  },
};

/** The hashes that a bucket sums up are below this. */
const summedBelow = 1n << 48n;

/** As many documents as a bucket may have for its sum to fit into 64 bits. */
export const maxSummed = Number((1n << 63n) / summedBelow);

/**
 * Buckets of a range, in each direction from zero: of 100,000 documents, one that differs makes about 25 be looked at one by one.
 */
const bucketCount = 2_048;

/** The bucket of a document, by its `_id`. The hash of a bare number is that of its whole part: all ids below 1 would share it. */
const bucket = {
  $mod: [
    { $toHashedIndexKey: { $_internalKeyStringValue: { input: '$_id' } } },
    { $literal: bucketCount },
  ],
};

/** The documents of one bucket together. */
export interface Bucket {
  readonly documents: number;
  readonly bytes: number;
  /** Equal for equal documents, in whatever order. */
  readonly sum: bigint;
}

/** A document's `_id`, and its hash. The `_id` shares the memory of its batch. */
export interface Fingerprint {
  readonly id: RawElement;
  readonly hash: bigint;
}

/** The fingerprints of a range of documents of one collection. */
export class FingerprintReader {
  readonly #cluster: ClusterClient;
  readonly #query: FingerprintQuery;
  readonly #signal: AbortSignal;

  constructor(cluster: ClusterClient, query: FingerprintQuery, signal: AbortSignal) {
    this.#cluster = cluster;
    this.#query = query;
    this.#signal = signal;
  }

  /**
   * The documents in buckets, hashed by the server: only the `_id` decides which bucket a document is in.
   * @throws MongoServerError if the server refuses: it has no such hash.
   */
  async buckets(): Promise<ReadonlyMap<number, Bucket>> {
    const pipeline = [
      {
        $group: {
          _id: bucket,
          n: { $sum: 1 },
          s: { $sum: { $bsonSize: '$$ROOT' } },
          h: { $sum: { $mod: [documentHash, Long.fromBigInt(summedBelow)] } },
        },
      },
    ];
    const buckets = new Map<number, Bucket>();
    for await (const document of this.#aggregated(pipeline)) {
      const fields = new Map(elementsOf(document).map((element) => [element.name, element]));
      const number = (name: string): bigint => integerIn(fields.get(name), name);
      buckets.set(Number(number('_id')), {
        documents: Number(number('n')),
        bytes: Number(number('s')),
        sum: number('h'),
      });
    }
    return buckets;
  }

  /** The documents in some buckets, one by one, hashed by the server, in any order. */
  async *inBuckets(buckets: readonly number[]): AsyncGenerator<Fingerprint, void> {
    // Looked up by its place: the server would compare each document's bucket with those of a list one by one.
    const isWanted = Array<boolean>(2 * bucketCount).fill(false);
    for (const each of buckets) isWanted[each < 0 ? each + isWanted.length : each] = true;
    const pipeline = [
      { $match: { $expr: { $arrayElemAt: [{ $literal: isWanted }, bucket] } } },
      { $project: { h: documentHash } },
    ];
    for await (const document of this.#aggregated(pipeline)) {
      const hashed = elementsOf(document).find(({ name }) => name === 'h');
      if (hashed?.type !== bsonType.int64) throw malformed('h');
      const { bytes, offset } = hashed;
      yield { id: idElement(document), hash: asBuffer(bytes).readBigInt64LE(offset) };
    }
  }

  /** All documents, one by one, read and hashed byte for byte, with their size. */
  async *byBytes(): AsyncGenerator<Fingerprint & { readonly bytes: number }, void> {
    const { namespace, range, readConcern, collectionUUID } = this.#query;
    let hasMaxKey = false;
    for (const bounds of idRangeQueries(range)) {
      // A range of a clustered collection reaches MaxKey, which has a query of its own.
      const skipsMaxKey = hasMaxKey;
      const find = {
        ...{ find: namespace.coll, ...bounds, readConcern },
        ...(collectionUUID && { collectionUUID }),
      };
      await using cursor = await this.#open(find);
      for await (const { documents } of cursor.batches())
        for (const document of documents) {
          const id = idElement(document);
          const isMaxKey = id.type === bsonType.maxKey;
          if (isMaxKey && skipsMaxKey) continue;
          hasMaxKey ||= isMaxKey;
          yield { id, hash: hashOf(document), bytes: document.length };
        }
    }
  }

  async *#aggregated(pipeline: readonly Document[]): AsyncGenerator<RawDocument, void> {
    const { namespace, range, readConcern, collectionUUID } = this.#query;
    await using cursor = await this.#open({
      aggregate: namespace.coll,
      pipeline: [...rangeStages(range), ...pipeline],
      ...{ cursor: {}, allowDiskUse: true, readConcern },
      // In natural order, what a busy capped collection deletes would end the cursor.
      hint: { _id: 1 },
      ...(collectionUUID && { collectionUUID }),
    });
    for await (const { documents } of cursor.batches()) yield* documents;
  }

  async #open(command: Document): Promise<RawCursor> {
    const { namespace, readPreference } = this.#query;
    return await RawCursor.open(this.#cluster.raw, namespace.db, command, {
      signal: this.#signal,
      ...(readPreference && { readPreference }),
    });
  }
}

/**
 * Whether an error of a {@link FingerprintReader} may mean that the server cannot hash the documents. What it makes to hash one can
 * be too large for it, where the document is not: the code of that error says nothing.
 */
export function cannotHash(error: unknown): boolean {
  return isRefused(error) || isUnclear(error);
}

/** Whether an error means that the server can hash no document: it does not know the expression. */
export function hasNoHash(error: unknown): boolean {
  return codeOf(error) === serverCode.invalidPipelineOperator;
}

/** 64 bits of the SHA-256 of a document's bytes. */
function hashOf(document: RawDocument): bigint {
  return hash('sha256', document, 'buffer').readBigInt64LE(0);
}

/** `$expr` compares across BSON types, and by the collection's collation, as the index on `_id` does, and uses that index. */
function rangeStages({ min, max }: IdRange): Document[] {
  const bounds = [
    ...(min === null ? [] : [{ $gte: ['$_id', literal(min)] }]),
    ...(max === null ? [] : [{ $lt: ['$_id', literal(max)] }]),
  ];
  return bounds.length === 0 ? [] : [{ $match: { $expr: { $and: bounds } } }];
}

function literal(bound: Document): Document {
  return { $literal: new RawValue('$literal', idElement(encodeSpec(bound))) };
}

function integerIn(element: RawElement | undefined, name: string): bigint {
  if (element === undefined) throw malformed(name);
  const { type, bytes, offset } = element;
  const buffer = asBuffer(bytes);
  switch (type) {
    case bsonType.int32:
      return BigInt(buffer.readInt32LE(offset));
    case bsonType.int64:
      return buffer.readBigInt64LE(offset);
    case bsonType.double: {
      const value = buffer.readDoubleLE(offset);
      if (!Number.isInteger(value)) throw malformed(name);
      return BigInt(value);
    }
    default:
      throw malformed(name);
  }
}

function malformed(name: string): MalformedAnswer {
  return new MalformedAnswer(`fingerprints of documents without a whole number ${name}`);
}
