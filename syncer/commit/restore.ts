import { MongoServerError } from 'mongodb';
import { listIndexes } from '../../mongo/catalog.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import {
  collectionAt,
  convertToCapped,
  modifyCollection,
  runCreateIndexes,
} from '../catalog/destination-catalog.ts';
import { retrying } from '../../mongo/retrying.ts';
import type { TrackedCollection } from '../state/records.ts';
import type { SyncContext } from '../sync-context.ts';
import { planIndexes, planOptions, type IndexStep } from './restore-plan.ts';
import { setWriteBlocking } from './write-blocking.ts';

/**
 * Gives every collection of the destination its true characteristics, once all changes of the commit are applied.
 * Users may write there as soon as no new duplicate can get past an index that is going to be unique: `beforeWritable` is
 * called before they can, and `onWritable` then. May be repeated from any point.
 * @throws SyncError UniqueIndexViolation with examples, when documents of the source break a unique index.
 */
export async function restoreCharacteristics(
  context: SyncContext,
  steps: {
    readonly beforeWritable: () => Promise<void>;
    readonly onWritable: () => Promise<void>;
  },
): Promise<void> {
  await forEachCollection(context, async (collection) => {
    for (const step of await stepsFor(context, collection)) {
      if (step.kind === 'prepareUnique') await runStep(context, collection, step);
    }
  });
  await retrying(context, 'restore', async () => {
    await steps.beforeWritable();
    if (context.options.enableUserWriteBlocking)
      await setWriteBlocking(context.destination, false, context.signal);
    await steps.onWritable();
  });
  context.logger.info('users may write to the destination');
  await forEachCollection(context, async (collection) => {
    for (const step of await stepsFor(context, collection))
      await runStep(context, collection, step);
    await restoreOptions(context, collection);
  });
}

async function forEachCollection(
  context: SyncContext,
  run: (collection: TrackedCollection) => Promise<void>,
): Promise<void> {
  await forEachConcurrently(
    context.catalog.collections(),
    context.tuning.copyWorkers,
    async (collection) => {
      await retrying(context, 'restore', async () => {
        await run(collection);
      });
    },
  );
}

async function stepsFor(
  context: SyncContext,
  { namespace, indexes }: TrackedCollection,
): Promise<IndexStep[]> {
  if (context.options.buildIndexes === 'never') return [];
  const present = await listIndexes(context.destination, namespace, context.signal);
  return planIndexes(indexes, present ?? []);
}

async function runStep(
  context: SyncContext,
  { namespace }: TrackedCollection,
  step: IndexStep,
): Promise<void> {
  try {
    switch (step.kind) {
      case 'prepareUnique':
        await modifyCollection(context, namespace, {
          index: { name: step.name, prepareUnique: true },
        });
        return;
      case 'convertToUnique':
        await modifyCollection(context, namespace, { index: { name: step.name, unique: true } });
        return;
      case 'modify':
        await modifyCollection(context, namespace, { index: step.change });
        return;
      case 'build':
        await runCreateIndexes(context, namespace, [step.spec]);
        return;
    }
  } catch (error) {
    const code = codeOf(error);
    if (code !== serverCode.cannotConvertIndexToUnique && code !== serverCode.duplicateKey)
      throw error;
    const name = step.kind === 'build' ? step.spec.name : step.name;
    throw new SyncError(
      'UniqueIndexViolation',
      `index ${name} of ${namespaceText(namespace)} cannot be unique: ${duplicates(error)}`,
      {
        cause: error,
      },
    );
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

async function restoreOptions(
  context: SyncContext,
  { namespace, options }: TrackedCollection,
): Promise<void> {
  const present = await collectionAt(context, namespace);
  for (const step of planOptions(options, present?.options ?? {})) {
    switch (step.kind) {
      case 'convertToCapped':
        await convertToCapped(context, namespace, step.size);
        break;
      case 'modify':
        await modifyCollection(context, namespace, step.change);
        break;
    }
  }
}
