import { MongoServerError, type Document } from 'mongodb';
import { isIdIndex, isTrue } from '../../mongo/replicated-form.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { codeOf, isIndexRefused, serverCode } from '../../mongo/server-errors.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import type { CollectionTarget } from '../destination/destination-catalog.ts';
import type { Destination } from '../destination/destination.ts';
import { canRefuse } from '../destination/refusing-indexes.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';
import { planIndexes, planIndexesOfShards, planOptions, type IndexStep } from './restore-plan.ts';

/** How to restore collections. */
interface RestoreSettings {
  readonly buildIndexes: StartOptions['buildIndexes'];
  /** How many collections to restore side by side. */
  readonly workers: number;
  readonly logger: Logger;
}

/** Gives the collections of the destination their true characteristics, during the commit. */
export class Restoration {
  readonly #destination: Destination;
  readonly #catalog: TrackedCatalog;
  readonly #store: WorkStore;
  readonly #settings: RestoreSettings;

  constructor(
    destination: Destination,
    catalog: TrackedCatalog,
    store: WorkStore,
    settings: RestoreSettings,
  ) {
    this.#destination = destination;
    this.#catalog = catalog;
    this.#store = store;
    this.#settings = settings;
  }

  /**
   * Gives every collection of the destination what must come before users write to it, once all changes of the commit are
   * applied: no duplicate gets past an index that is about to be unique. May be repeated until users may write, but not after
   * that: it identifies a collection by its name.
   * @throws SyncError UniqueIndexViolation with examples, if documents of the source break a unique index; IndexBuildRefused if
   * the destination does not build an index.
   */
  async beforeUsers(): Promise<void> {
    await this.#forEachCollection(async (collection) => {
      const target = { namespace: collection.namespace };
      await this.#convertOptions(collection);
      for (const step of await this.#stepsFor(collection, target)) {
        if (isBeforeWritable(step)) await this.#runStepBeforeUsers(target, step);
      }
    });
  }

  /**
   * Gives every collection of the destination the rest of its true characteristics, while users write there. May be repeated
   * from any point.
   *
   * It respects what users do to the catalog: it looks up a renamed collection by its UUID, and leaves alone a collection that
   * they have dropped, as well as another that they have made under its name.
   * @throws SyncError as {@link beforeUsers} does.
   */
  async besideUsers(): Promise<void> {
    let indexes = 0;
    await this.#forEachCollection(async (collection) => {
      await this.#whereItIs(collection, async (target, present) => {
        const shardKey = this.#destination.kind.shardKeyOf(collection);
        if (shardKey)
          await this.#destination.sharding.supportShardKey(target, collection.indexes, shardKey);
        for (const step of await this.#stepsFor(collection, target)) {
          await this.#runStepBesideUsers(target, step);
          indexes++;
        }
        if (shardKey) await this.#destination.sharding.settleShardKeyIndex(target, shardKey);
        for (const step of planOptions(collection.options, present))
          if (step.kind === 'modify') await this.#modify(target, step.change);
      });
    });
    this.#settings.logger.info({ indexes }, 'indexes and options restored');
  }

  /** Runs a step. If an index conflicts with another one that is not unique yet, it is built once that one is. */
  async #runStepBeforeUsers(target: CollectionTarget, step: IndexStep): Promise<void> {
    try {
      await this.#runStep(target, step);
    } catch (error) {
      if (step.kind !== 'build' || !isTaken(error)) throw error;
    }
  }

  async #forEachCollection(run: (collection: TrackedCollection) => Promise<void>): Promise<void> {
    await forEachConcurrently(
      this.#catalog.collections(),
      this.#settings.workers,
      async (collection) => {
        await this.#destination.step('restore', async () => {
          await run(collection);
        });
      },
    );
  }

  /** Runs steps on a collection wherever it is now, again if it has moved meanwhile. */
  async #whereItIs(
    { namespace, destinationUuid }: TrackedCollection,
    run: (target: CollectionTarget, options: Document) => Promise<void>,
  ): Promise<void> {
    for (;;) {
      const now = await this.#destination.catalog.find({ namespace, destinationUuid });
      if (!now) return;
      try {
        await run({ namespace: now.namespace, uuid: now.uuid }, now.options);
        return;
      } catch (error) {
        if (!isMoved(error)) throw error;
      }
    }
  }

  async #stepsFor(
    collection: TrackedCollection,
    { namespace }: CollectionTarget,
  ): Promise<IndexStep[]> {
    const { catalog, sharding, kind } = this.#destination;
    const { indexes } = collection;
    if (indexes.every(isIdIndex)) return [];
    const steps =
      kind.shardKeyOf(collection) === null
        ? planIndexes(indexes, await catalog.indexesOf(namespace))
        : planIndexesOfShards(indexes, (await sharding.shardIndexesOf(namespace)).values());
    // Those that were on the destination before the sync have the replicated form, too.
    const buildsNone = this.#settings.buildIndexes === 'never';
    return buildsNone ? steps.filter(({ kind: step }) => step !== 'build') : steps;
  }

  /** An index that a user has made instead of one that is still to be built stays. */
  async #runStepBesideUsers(target: CollectionTarget, step: IndexStep): Promise<void> {
    try {
      await this.#runStep(target, step);
    } catch (error) {
      if (step.kind !== 'build' || !isTaken(error)) throw error;
      await this.#store.warn(
        `index ${step.spec.name} of ${namespaceText(target.namespace)} was not built: ${messageOf(error)}`,
      );
    }
  }

  async #modify({ namespace, uuid }: CollectionTarget, change: Document): Promise<void> {
    const only = uuid === undefined ? {} : { collectionUUID: uuid };
    await this.#destination.catalog.modify(namespace, { ...change, ...only });
  }

  async #runStep(target: CollectionTarget, step: IndexStep): Promise<void> {
    try {
      switch (step.kind) {
        case 'prepareUnique':
          await this.#modify(target, { index: { name: step.name, prepareUnique: true } });
          return;
        case 'convertToUnique':
          await this.#modify(target, { index: { name: step.name, unique: true } });
          return;
        case 'modify':
          await this.#modify(target, { index: step.change });
          return;
        case 'build':
          await this.#destination.catalog.createIndexes(target.namespace, [step.spec], {
            collectionUUID: target.uuid,
          });
          return;
      }
    } catch (error) {
      const code = codeOf(error);
      const name = step.kind === 'build' ? step.spec.name : step.name;
      const index = `index ${name} of ${namespaceText(target.namespace)}`;
      if (code === serverCode.cannotConvertIndexToUnique || code === serverCode.duplicateKey) {
        const description = `${index} cannot be unique: ${duplicates(error)}`;
        throw new SyncError('UniqueIndexViolation', description, { cause: error });
      }
      if (step.kind !== 'build' || !isIndexRefused(error) || isTaken(error)) throw error;
      const description = `${index} cannot be built: ${messageOf(error)}`;
      throw new SyncError('IndexBuildRefused', description, { cause: error });
    }
  }

  /**
   * Makes a collection capped that could not be created so. That gives it another UUID and may move its documents, so it is
   * done before users may write.
   */
  async #convertOptions(collection: TrackedCollection): Promise<void> {
    const { namespace, options } = collection;
    if (!isTrue(options['capped'])) return;
    const present = await this.#destination.catalog.collectionAt(namespace);
    for (const step of planOptions(options, present?.options ?? {}))
      if (step.kind === 'convertToCapped')
        await this.#destination.catalog.convertToCapped(namespace, step.size);
    const uuid = (await this.#destination.catalog.collectionAt(namespace))?.uuid;
    if (uuid && collection.destinationUuid?.equals(uuid) !== true)
      await this.#catalog.put({ ...collection, destinationUuid: uuid });
  }
}

/**
 * The steps that must keep out documents before users write them: those that an index refuses, or that must not occur twice in
 * it.
 */
function isBeforeWritable(step: IndexStep): boolean {
  if (step.kind !== 'build') return step.kind === 'prepareUnique';
  return isTrue(step.spec['unique']) || canRefuse(step.spec);
}

/** True if the server says that another index has the name or the keys. */
function isTaken(error: unknown): boolean {
  const code = codeOf(error);
  return code === serverCode.indexOptionsConflict || code === serverCode.indexKeySpecsConflict;
}

/** True if somebody has dropped or renamed the target of a step. */
function isMoved(error: unknown): boolean {
  const code = codeOf(error);
  return (
    code === serverCode.collectionUuidMismatch ||
    code === serverCode.namespaceNotFound ||
    code === serverCode.indexNotFound
  );
}

/** The _ids of some documents with equal keys, as the server lists them. */
function duplicates(error: unknown): string {
  if (!(error instanceof MongoServerError)) return messageOf(error);
  const violations = (error.errorResponse['violations'] ?? []) as { ids: unknown[] }[];
  if (violations.length === 0) return messageOf(error);
  const examples = violations.slice(0, 3).map(
    ({ ids }) =>
      `the documents with _id ${ids
        .slice(0, 5)
        .map((id) => JSON.stringify(id))
        .join(', ')}`,
  );
  return `${examples.join('; ')} have the same key`;
}
