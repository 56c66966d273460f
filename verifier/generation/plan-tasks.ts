import { namespaceText } from '../../mongo/namespace.ts';
import { idLists } from '../compare/compare-ids.ts';
import type { Pending, PendingNamespace } from '../pending-checks.ts';
import { isCapped, isCollectionPair, type NamespacePair } from './namespace-pairs.ts';
import type { Task } from './task.ts';

/** Which pass it is: everything; what is pending; or what is pending and all that has no change events of its own. */
export type GenerationKind = 'first' | 'recheck' | 'last';

/** The databases whose catalogs a pass has to read. */
export function databasesOf(kind: GenerationKind, pending: Pending): ReadonlySet<string> | 'all' {
  if (kind !== 'recheck') return 'all';
  return new Set([
    ...pending.databases,
    ...pending.namespaces.map(({ namespace }) => namespace.db),
  ]);
}

/** The tasks of a pass. */
export function* planTasks(
  kind: GenerationKind,
  pending: Pending,
  pairs: ReadonlyMap<string, NamespacePair>,
): Generator<Task, void> {
  const waiting = new Map(pending.namespaces.map((each) => [namespaceText(each.namespace), each]));
  for (const [name, pair] of pairs) {
    const check = waiting.get(name);
    const isWhole =
      kind === 'first' || check?.whole === true || pending.databases.has(pair.namespace.db);
    yield* tasksOf(kind, pair, { isWhole, check });
  }
}

function* tasksOf(
  kind: GenerationKind,
  pair: NamespacePair,
  { isWhole, check }: { readonly isWhole: boolean; readonly check: PendingNamespace | undefined },
): Generator<Task, void> {
  const isPair = isCollectionPair(pair);
  const isTouched = check !== undefined || isWhole;
  if (kind === 'last' || isWhole || check?.metadata === true || (isTouched && !isPair)) {
    yield { kind: 'metadata', pair };
  }
  if (!isPair) return;
  const hasOrder = kind === 'last' && isCapped(pair);
  if (isWhole || hasOrder) {
    yield { kind: 'collection', pair };
  } else if (check) {
    for (const ids of idLists(check.ids)) yield { kind: 'ids', pair, ids };
  }
}
