import type { Collection, Document } from 'mongodb';
import { storedDocument } from '../../mongo/stored-document.ts';
import type { NamespaceCounts, PlanKey, RangeTask, TaskCounts } from './records.ts';

const taskStates = ['added', 'processing', 'completed', 'failed'] as const;

const sums = {
  documents: { $sum: '$compared.documents' },
  bytes: { $sum: '$compared.bytes' },
  expectedDocuments: { $sum: '$expected.documents' },
  expectedBytes: { $sum: '$expected.bytes' },
};

const flags = {
  metadata: { $sum: { $cond: ['$isMetadataMismatch', 1, 0] } },
  overflowing: { $sum: { $cond: ['$isOverflowing', 1, 0] } },
  disturbed: { $sum: { $cond: ['$isDisturbed', 1, 0] } },
};

/** The stages that add up the tasks of a pass, a row for each of their states. */
export function countsPipeline(plan: PlanKey): Document[] {
  return [
    { $match: { ...plan } },
    { $group: { _id: '$state', count: { $sum: 1 }, ...sums, ...flags } },
  ];
}

/** The counts in the rows of {@link countsPipeline}. @throws SyncError StoredStateInvalid for rows of anything else. */
export function countsIn<T extends Document>(
  tasks: Collection<T>,
  found: readonly Document[],
): TaskCounts {
  const rows = found.map((row) => storedDocument(tasks, row));
  const of = (state: RangeTask['state']): number =>
    rows
      .find((row) => row.field('_id').oneOf(taskStates) === state)
      ?.field('count')
      .count() ?? 0;
  const total = (field: string): number =>
    rows.reduce((sum, row) => sum + row.field(field).count(), 0);
  return {
    added: of('added'),
    processing: of('processing'),
    failed: of('failed'),
    completed: of('completed'),
    metadataMismatch: total('metadata'),
    isOverflowing: total('overflowing') > 0,
    disturbed: total('disturbed'),
    compared: { documents: total('documents'), bytes: total('bytes') },
    expected: { documents: total('expectedDocuments'), bytes: total('expectedBytes') },
  };
}

/** The stages that add up the tasks of a pass by namespace, in the order of their names. */
export function namespaceCountsPipeline(
  plan: PlanKey,
  { after, limit }: { readonly after: string; readonly limit: number },
): Document[] {
  const isIn = (...states: string[]): Document => ({
    $sum: { $cond: [{ $in: ['$state', states] }, 1, 0] },
  });
  return [
    { $match: { ...plan } },
    { $set: { name: { $concat: ['$namespace.db', '.', '$namespace.coll'] } } },
    { $match: { name: { $gt: after } } },
    {
      $group: {
        _id: '$name',
        tasks: { $sum: 1 },
        ended: isIn('failed', 'completed'),
        failed: isIn('failed'),
        ...sums,
      },
    },
    { $sort: { _id: 1 } },
    { $limit: limit },
  ];
}

/** A row of {@link namespaceCountsPipeline}. @throws SyncError StoredStateInvalid for anything else. */
export function namespaceCountsIn<T extends Document>(
  tasks: Collection<T>,
  found: Document,
): NamespaceCounts {
  const row = storedDocument(tasks, found);
  const count = (field: string): number => row.field(field).count();
  return {
    namespace: row.field('_id').text(),
    tasks: count('tasks'),
    endedTasks: count('ended'),
    failedTasks: count('failed'),
    compared: { documents: count('documents'), bytes: count('bytes') },
    expected: { documents: count('expectedDocuments'), bytes: count('expectedBytes') },
  };
}
