import { BSON, type Document } from 'mongodb';
import { checkedRow } from '../../mongo/checked-value.ts';
import { readConfig, readShardKeys, type ShardedCollection } from '../../mongo/config-database.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import { type Namespace, namespaceText } from '../../mongo/namespace.ts';
import { hostsOf } from '../../mongo/raw-cursor.ts';
import { isTrue, replicatedIndex } from '../../mongo/replicated-form.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { codeOf, isRefused, serverCode } from '../../mongo/server-errors.ts';
import { readShardIndexes, type ShardIndexes } from '../../mongo/shard-indexes.ts';
import {
  type ShardKey,
  shardKeyDocument,
  shardKeyIndexName,
  supportsShardKey,
} from '../../mongo/shard-key.ts';
import { decodeIndexSpec, type IndexSpec } from '../../mongo/specification.ts';
import { shardsIn } from '../../mongo/topology.ts';
import { readWhole } from '../../mongo/whole-reading.ts';
import { messageOf } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { CollectionTarget, DestinationCatalog } from './destination-catalog.ts';

/** What sharding on the destination needs. */
interface ShardingParts {
  readonly deployment: Deployment;
  readonly catalog: DestinationCatalog;
  readonly options: Pick<StartOptions, 'buildIndexes'>;
  readonly logger: Logger;
  readonly warn: (warning: string) => Promise<void>;
  /** See Destination.step. */
  readonly step: (work: string, run: () => Promise<void>) => Promise<void>;
  readonly signal: AbortSignal;
}

/** The values of a shard key that belong to one zone. */
export interface ZoneRange {
  readonly min: unknown;
  readonly max: unknown;
  readonly zone: string;
}

/** How a collection is sharded. */
export type Sharding = Pick<ShardedCollection, 'key' | 'isUnique'>;

/** A chunk of a sharded collection: its bounds are values of the shard key. */
export interface PlacedChunk {
  readonly min: Document;
  readonly max: Document;
  readonly shard: string;
}

/**
 * Where the documents of the destination's sharded collections are, and the indexes that this requires. On a replica set no
 * collection has a shard key, and none of this is used.
 */
export class DestinationSharding {
  readonly #parts: ShardingParts;

  constructor(parts: ShardingParts) {
    this.#parts = parts;
  }

  /** The ids of the shards; none if the destination is a replica set. */
  get shards(): readonly string[] {
    return this.#parts.deployment.shards;
  }

  /** How collections are sharded, by their names. */
  async shardedCollections(): Promise<ReadonlyMap<string, Sharding>> {
    const { deployment, signal } = this.#parts;
    if (this.shards.length === 0) return new Map();
    const sharded = await readShardKeys(deployment, signal);
    return new Map([...sharded.values()].map((each) => [each.namespace, each]));
  }

  /** Shards an existing collection. May be repeated. */
  async shard(namespace: Namespace, key: ShardKey): Promise<void> {
    const command = {
      shardCollection: namespaceText(namespace),
      key: shardKeyDocument(key),
      // Shard keys are compared as bytes; if the collection has a collation, the command has to say so.
      collation: { locale: 'simple' },
    };
    await this.#parts.catalog.place(command, 'none');
  }

  /**
   * Gives a collection zone ranges, as far as there are shards in zones of these names. To be called before sharding it: the
   * zones then decide where its chunks go.
   * @returns whether there are any.
   */
  async setZones(namespace: Namespace, ranges: readonly ZoneRange[]): Promise<boolean> {
    if (ranges.length === 0) return false;
    const { deployment, catalog, signal } = this.#parts;
    const shards = shardsIn(await runCommand(deployment.admin, { listShards: 1 }, { signal }));
    const tags = shards.flatMap((shard) => shard.optional('tags')?.list() ?? []);
    const zones = new Set(tags.map((tag) => tag.text()));
    const mapped = ranges.filter(({ zone }) => zones.has(zone));
    for (const range of mapped)
      await catalog.place({ updateZoneKeyRange: namespaceText(namespace), ...range });
    return mapped.length > 0;
  }

  /** Splits a chunk. Skips a place that is already a bound, or an array, which no chunk can begin with. */
  async split(namespace: Namespace, middle: Document): Promise<void> {
    const split = namespaceText(namespace);
    try {
      await this.#parts.catalog.place({ split, middle });
    } catch (error) {
      if (!isRefused(error)) throw error;
      this.#parts.logger.debug({ namespace: split, err: error }, 'not split here');
    }
  }

  /** Moves a chunk to another shard. Resolves when its documents are gone from the old one; retried until then. */
  async move(namespace: Namespace, { min, max }: PlacedChunk, to: string): Promise<void> {
    await this.#parts.step('chunks', async () => {
      const moveChunk = namespaceText(namespace);
      const move = { moveChunk, bounds: [min, max], to, _waitForDelete: true };
      await this.#parts.catalog.place(move, 'none');
    });
  }

  /** The chunks of a collection, in the order of their bounds. */
  async chunksOf(namespace: Namespace): Promise<PlacedChunk[]> {
    const { deployment, signal } = this.#parts;
    const find = { find: 'collections', filter: { _id: namespaceText(namespace) } };
    const [placed] = await readConfig(deployment, find, signal);
    if (placed === undefined) return [];
    const server = hostsOf(deployment.decoded);
    const uuid = placed.field('uuid').uuid();
    const config = deployment.decoded.db('config');
    const chunks = config.collection('chunks').find(
      { uuid },
      // This keeps the types of the bounds.
      { signal, promoteValues: false, sort: { min: 1 } },
    );
    return (await readWhole(chunks)).map((row) => {
      const chunk = checkedRow(row, 'a document of config.chunks', server);
      return {
        min: chunk.field('min').document(),
        max: chunk.field('max').document(),
        shard: chunk.field('shard').text(),
      };
    });
  }

  /**
   * Adds fields to the shard key of a collection.
   * @returns false if the server refuses: the shorter key puts documents in the right place, too. A warning says so.
   */
  async refine(namespace: Namespace, key: ShardKey): Promise<boolean> {
    const { catalog, warn } = this.#parts;
    const refineCollectionShardKey = namespaceText(namespace);
    try {
      await catalog.place({ refineCollectionShardKey, key: shardKeyDocument(key) }, 'none');
      return true;
    } catch (error) {
      if (!isRefused(error)) throw error;
      // A key created as unique requires an index that is unique.
      await warn(`${refineCollectionShardKey} keeps its shard key: ${messageOf(error)}`);
      return false;
    }
  }

  /**
   * Makes sure that an index of a collection supports its shard key, and still will once the indexes hidden on the source are
   * hidden: otherwise builds a temporary one. If there is one for a previous, shorter key, which the server does not let go, builds the
   * source's own.
   */
  async supportShardKey(
    target: CollectionTarget,
    trueIndexes: readonly IndexSpec[],
    key: ShardKey,
  ): Promise<void> {
    const { namespace, uuid } = target;
    const hidden = trueIndexes.filter((spec) => isTrue(spec['hidden'])).map(({ name }) => name);
    const present = await this.#parts.catalog.indexesOf(namespace);
    const isSupporting = (spec: IndexSpec): boolean =>
      supportsShardKey(spec, key) && !hidden.includes(spec.name);
    if (present.some(isSupporting)) return;
    if (!present.some(({ name }) => name === shardKeyIndexName)) {
      await this.#buildTemporaryIndex(target, key);
      return;
    }
    // The source has one: it would have refused the key.
    const own = trueIndexes.find(isSupporting);
    if (own)
      await this.#parts.catalog.createIndexes(namespace, [replicatedIndex(own)], {
        collectionUUID: uuid,
      });
  }

  /** Drops an index of a collection. If its shard key has no other index, builds one first. */
  async dropIndex(
    { namespace, shardKey }: Pick<TrackedCollection, 'namespace' | 'shardKey'>,
    name: string,
  ): Promise<void> {
    const { catalog } = this.#parts;
    try {
      await catalog.dropIndex(namespace, name);
    } catch (error) {
      if (codeOf(error) !== serverCode.cannotDropShardKeyIndex || shardKey === null) throw error;
      await this.#buildTemporaryIndex({ namespace }, shardKey);
      await catalog.dropIndex(namespace, name);
    }
  }

  /**
   * Drops the index that has supported a shard key during the sync. If the source has none for the key, one on only the key
   * takes its place: the server needs one. With `buildIndexes: never` it stays.
   */
  async settleShardKeyIndex(target: CollectionTarget, key: ShardKey): Promise<void> {
    const { namespace } = target;
    const { catalog, options, warn } = this.#parts;
    if (options.buildIndexes === 'never') return;
    const present = await catalog.indexesOf(namespace);
    if (!present.some(({ name }) => name === shardKeyIndexName)) return;
    const isSupported = present.some(
      (spec) => spec.name !== shardKeyIndexName && supportsShardKey(spec, key),
    );
    try {
      if (!isSupported) await this.#buildIndex(target, plainName(key), key);
      await catalog.dropIndex(namespace, shardKeyIndexName);
    } catch (error) {
      // For example, a hidden index on the same keys. Of a collection that has moved, the caller looks where it is now.
      if (!isRefused(error) || codeOf(error) === serverCode.collectionUuidMismatch) throw error;
      await warn(
        `index ${shardKeyIndexName} of ${namespaceText(namespace)} stays: ${messageOf(error)}`,
      );
    }
  }

  /** The indexes of a sharded collection on each shard; they may differ. */
  async shardIndexesOf(namespace: Namespace): Promise<ShardIndexes> {
    const { deployment, catalog, signal } = this.#parts;
    const listed = await catalog.indexesOf(namespace);
    return await readShardIndexes(deployment, namespace, listed, signal);
  }

  /** It has one field more than the shard key, which no document has, so it conflicts with no index of the source. */
  async #buildTemporaryIndex(target: CollectionTarget, key: ShardKey): Promise<void> {
    const longer = [...key, { field: shardKeyIndexName, kind: 1 }] as const;
    await this.#buildIndex(target, shardKeyIndexName, longer);
  }

  async #buildIndex(
    { namespace, uuid }: CollectionTarget,
    name: string,
    key: ShardKey,
  ): Promise<void> {
    const spec = BSON.serialize({ v: 2, key: shardKeyDocument(key), name });
    await this.#parts.catalog.createIndexes(namespace, [decodeIndexSpec(spec)], {
      collectionUUID: uuid,
    });
  }
}

/** The name that the MongoDB shell would give it. */
function plainName(key: ShardKey): string {
  return key.map(({ field, kind }) => `${field}_${kind}`).join('_');
}
