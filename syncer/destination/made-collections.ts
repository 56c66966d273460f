import type { WriteConcernSettings } from 'mongodb';
import type { CollectionInfo } from '../../mongo/catalog.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { isIdIndex, replicatedIndex, replicatedOptions } from '../../mongo/replicated-form.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { shardKeyIndexName } from '../../mongo/shard-key.ts';
import { isSameOptions, isSameSpec, type IndexSpec } from '../../mongo/specification.ts';
import { SyncError } from '../../service/errors.ts';
import type { TrackedCollection } from '../store/records.ts';
import { madeByOthers, type DestinationCatalog } from './destination-catalog.ts';

/** The collections that the sync makes on the destination: it replaces, takes over or drops nothing else there. */
export class MadeCollections {
  readonly #catalog: DestinationCatalog;

  constructor(catalog: DestinationCatalog) {
    this.#catalog = catalog;
  }

  /**
   * Creates a tracked collection in its replicated form, without its indexes. May be repeated: an existing collection is
   * accepted if its UUID is known, or if it has no documents and these options. A successful answer is not proof: routers, and
   * servers from 7.0 on, also report success if a collection with the same options was there already.
   * @throws SyncError DestinationNotEmpty if somebody else has made what is there, or has written to it.
   */
  async create(tracked: TrackedCollection, writeConcern?: WriteConcernSettings): Promise<void> {
    const { namespace, options, indexes, destinationUuid } = tracked;
    try {
      const replicated = { ...replicatedOptions(options), ...oldIdIndex(indexes) };
      await this.#catalog.create(namespace, replicated, writeConcern);
    } catch (error) {
      if (codeOf(error) !== serverCode.namespaceExists) throw error;
      const there = await this.#catalog.collectionAt(namespace);
      if (!there) throw madeByOthers(namespace);
      if (destinationUuid?.equals(there.uuid)) return;
      if (!isOfOptions(there, tracked)) throw madeByOthers(namespace);
    }
    if (await this.#catalog.isEmpty(namespace)) return;
    // Its documents are copied as soon as its UUID is stored.
    const now = destinationUuid && (await this.#catalog.collectionAt(namespace));
    if (now && destinationUuid.equals(now.uuid)) return;
    throw new SyncError(
      'DestinationNotEmpty',
      `${namespaceText(namespace)} was written to on the destination since the start`,
    );
  }

  /**
   * Drops what the sync has made of a tracked collection, and nothing else; whatever somebody else has put in its place stays.
   * @returns false if it is not there.
   * @throws SyncError DestinationNotEmpty if its UUID was not stored yet, and what is there may be somebody else's.
   */
  async drop(tracked: TrackedCollection, writeConcern?: WriteConcernSettings): Promise<boolean> {
    const { namespace, destinationUuid } = tracked;
    if (destinationUuid !== null)
      return await this.#catalog.dropCollection(namespace, destinationUuid, writeConcern);
    const there = await this.#catalog.namespaceAt(namespace);
    if (!there) return false;
    if (there.kind !== 'collection' || !(await this.isAsMade(there, tracked)))
      throw madeByOthers(namespace);
    return await this.#catalog.dropCollection(namespace, there.uuid, writeConcern);
  }

  /**
   * True if a collection is as the sync makes a tracked one, before it stores its UUID and puts documents there: it has no
   * documents, the same options, and no other indexes.
   */
  async isAsMade(
    there: CollectionInfo,
    tracked: Pick<TrackedCollection, 'namespace' | 'options' | 'indexes'>,
  ): Promise<boolean> {
    const { namespace, uuid } = there;
    if (!isOfOptions(there, tracked) || !(await this.#catalog.isEmpty(namespace))) return false;
    const present = await this.#catalog.indexesOf(namespace);
    const made = tracked.indexes.map(replicatedIndex);
    const isForeign = present.some(
      (spec) =>
        !isIdIndex(spec) &&
        spec.name !== shardKeyIndexName &&
        !made.some((one) => one.name === spec.name && isSameSpec(one, spec)),
    );
    // The checks above asked by name.
    const now = await this.#catalog.collectionAt(namespace);
    return !isForeign && now?.uuid.equals(uuid) === true;
  }
}

function isOfOptions(
  there: CollectionInfo,
  { options }: Pick<TrackedCollection, 'options'>,
): boolean {
  return isSameOptions(there.options, replicatedOptions(options));
}

/** The index on _id if it has a version that the server creates only on request. */
function oldIdIndex(indexes: readonly IndexSpec[]): { readonly idIndex?: IndexSpec } {
  const idIndex = indexes.find((spec) => isIdIndex(spec) && Number(spec['v']) === 1);
  return idIndex === undefined ? {} : { idIndex };
}
