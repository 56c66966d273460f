import { MongoServerError, type Document, type UUID } from 'mongodb';
import { findInDatabase, listIndexes } from '../../mongo/catalog.ts';
import { isIdIndex, isTrue } from '../../mongo/replicated-form.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { codeOf, isIndexRefused, serverCode } from '../../mongo/server-errors.ts';
import { readShardIndexes } from '../../mongo/shard-indexes.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import {
  collectionAt,
  convertToCapped,
  modifyCollection,
  runCreateIndexes,
} from '../destination/destination-catalog.ts';
import { canRefuse } from '../destination/loosen-indexes.ts';
import { retryingWrites } from '../destination/earlier-writes.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { planIndexes, planIndexesOfShards, planOptions, type IndexStep } from './restore-plan.ts';
import { settleShardKeyIndex, supportShardKey } from '../ddl/shard-collection.ts';

/**
 * Gives every collection of the destination what has to come before users write to it, once all changes of the commit are
 * applied: no duplicate gets past an index that is going to be unique then. May be repeated until users may write, and not
 * after that: it takes what has the name of a collection for that collection.
 * @throws SyncError UniqueIndexViolation with examples, when documents of the source break a unique index; IndexBuildRefused
 * when the destination will not build one.
 */
export async function restoreBeforeUsers(context: SyncContext): Promise<void> {
  await forEachCollection(context, async (collection) => {
    const target = { namespace: collection.namespace };
    await convertOptions(context, collection);
    for (const step of await stepsFor(context, collection, target)) {
      if (isBeforeWritable(step)) await runStepBeforeUsers(context, target, step);
    }
  });
}

/**
 * Gives every collection of the destination the rest of its true characteristics, while users write there. May be repeated
 * from any point.
 *
 * What users do to the catalog counts: a collection that they have renamed is looked up by its UUID, one that they have
 * dropped is left alone, and so is one of the same name that they have made.
 * @throws SyncError as restoreBeforeUsers does.
 */
export async function restoreBesideUsers(context: SyncContext): Promise<void> {
  let indexes = 0;
  await forEachCollection(context, async (collection) => {
    await whereItIs(context, collection, async (target, present) => {
      const { shardKey } = collection;
      if (shardKey) await supportShardKey(context, target.namespace, collection.indexes, shardKey);
      for (const step of await stepsFor(context, collection, target)) {
        await runStepBesideUsers(context, target, step);
        indexes++;
      }
      if (shardKey) await settleShardKeyIndex(context, target.namespace, shardKey);
      for (const step of planOptions(collection.options, present))
        if (step.kind === 'modify') await modify(context, target, step.change);
    });
  });
  context.logger.info({ indexes }, 'indexes and options restored');
}

/** A collection of the destination: where it is, and its UUID, where users may have put another in its place. */
interface Target {
  readonly namespace: Namespace;
  readonly uuid?: UUID;
}

/** What has to keep out documents before users write them: those that an index refuses, or that it may not have twice. */
function isBeforeWritable(step: IndexStep): boolean {
  if (step.kind !== 'build') return step.kind === 'prepareUnique';
  return isTrue(step.spec['unique']) || canRefuse(step.spec);
}

/** Such steps. One that stands in the way of another, which is not unique yet, is left to when that is. */
async function runStepBeforeUsers(
  context: SyncContext,
  target: Target,
  step: IndexStep,
): Promise<void> {
  try {
    await runStep(context, target, step);
  } catch (error) {
    if (step.kind !== 'build' || !isTaken(error)) throw error;
  }
}

/** The server's word that another index has the name or the keys. */
function isTaken(error: unknown): boolean {
  const code = codeOf(error);
  return code === serverCode.indexOptionsConflict || code === serverCode.indexKeySpecsConflict;
}

async function forEachCollection(
  context: SyncContext,
  run: (collection: TrackedCollection) => Promise<void>,
): Promise<void> {
  await forEachConcurrently(
    context.catalog.collections(),
    context.tuning.copyWorkers,
    async (collection) => {
      await retryingWrites(context, 'restore', async () => {
        await run(collection);
      });
    },
  );
}

/** Runs steps on a collection wherever it is by now, again when it has moved meanwhile. */
async function whereItIs(
  context: SyncContext,
  { namespace, destinationUuid }: TrackedCollection,
  run: (target: Target, options: Document) => Promise<void>,
): Promise<void> {
  for (;;) {
    const { destination, signal } = context;
    const now = await findInDatabase(destination, namespace, destinationUuid, signal);
    if (!now) return;
    try {
      await run({ namespace: now.namespace, uuid: now.uuid }, now.options);
      return;
    } catch (error) {
      if (!isMoved(error)) throw error;
    }
  }
}

/** True where somebody has dropped or renamed what a step is about. */
function isMoved(error: unknown): boolean {
  const code = codeOf(error);
  return (
    code === serverCode.collectionUuidMismatch ||
    code === serverCode.namespaceNotFound ||
    code === serverCode.indexNotFound
  );
}

async function stepsFor(
  context: SyncContext,
  { indexes, shardKey }: TrackedCollection,
  { namespace }: Target,
): Promise<IndexStep[]> {
  const { destination, options, signal } = context;
  if (options.buildIndexes === 'never' || indexes.every(isIdIndex)) return [];
  const present = (await listIndexes(destination, namespace, signal)) ?? [];
  if (shardKey === null) return planIndexes(indexes, present);
  const onShards = await readShardIndexes(destination, namespace, present, signal);
  return planIndexesOfShards(indexes, onShards.values());
}

/** An index that a user has made where one is still to be built stays. */
async function runStepBesideUsers(
  context: SyncContext,
  target: Target,
  step: IndexStep,
): Promise<void> {
  try {
    await runStep(context, target, step);
  } catch (error) {
    if (step.kind !== 'build' || !isTaken(error)) throw error;
    await context.warn(
      `index ${step.spec.name} of ${namespaceText(target.namespace)} was not built: ${messageOf(error)}`,
    );
  }
}

async function modify(
  context: SyncContext,
  { namespace, uuid }: Target,
  change: Document,
): Promise<void> {
  const only = uuid === undefined ? {} : { collectionUUID: uuid };
  await modifyCollection(context, namespace, { ...change, ...only });
}

async function runStep(context: SyncContext, target: Target, step: IndexStep): Promise<void> {
  try {
    switch (step.kind) {
      case 'prepareUnique':
        await modify(context, target, { index: { name: step.name, prepareUnique: true } });
        return;
      case 'convertToUnique':
        await modify(context, target, { index: { name: step.name, unique: true } });
        return;
      case 'modify':
        await modify(context, target, { index: step.change });
        return;
      case 'build':
        await runCreateIndexes(context, target.namespace, [step.spec], {
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

/**
 * Makes a collection capped that could not be created so. That gives it another UUID and may move its documents: it is
 * done before users may write.
 */
async function convertOptions(context: SyncContext, collection: TrackedCollection): Promise<void> {
  const { namespace, options } = collection;
  if (!isTrue(options['capped'])) return;
  const present = await collectionAt(context, namespace);
  for (const step of planOptions(options, present?.options ?? {}))
    if (step.kind === 'convertToCapped') await convertToCapped(context, namespace, step.size);
  const uuid = (await collectionAt(context, namespace))?.uuid;
  if (uuid && collection.destinationUuid?.equals(uuid) !== true)
    await context.catalog.put({ ...collection, destinationUuid: uuid });
}
