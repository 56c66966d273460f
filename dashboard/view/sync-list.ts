import type { Changes } from '../api/messages.ts';
import type { SyncRow } from '../api/sync-view.ts';
import { needsAttention } from './phase.ts';

/** The groups by which a list can be filtered. */
export const groups = ['all', 'attention', 'copying', 'changes', 'ready', 'committed'] as const;
export type Group = (typeof groups)[number];

/** The selection and order of a list. */
export interface Choice {
  readonly group: Group;
  /** Words that must all occur in names. */
  readonly search: string;
  readonly order: Order;
}

export const orders = ['state', 'name', 'lag', 'size'] as const;
export type Order = (typeof orders)[number];

/** Whether a sync belongs to a group. It can belong to several. */
export function isIn(group: Group, row: SyncRow): boolean {
  switch (group) {
    case 'all':
      return true;
    case 'attention':
      return needsAttention(row);
    case 'copying':
      return ['Pending', 'Starting', 'InitialCopy'].includes(row.phase);
    case 'changes':
      return ['ChangeApplication', 'Reversing', 'Committing'].includes(row.phase);
    case 'ready':
      return row.phase === 'ChangeApplication' && row.commitReadiness.isReady;
    case 'committed':
      return row.phase === 'Committed';
  }
}

/** The size of each group. */
export function countGroups(rows: readonly SyncRow[]): Readonly<Record<Group, number>> {
  const count = (group: Group): number => rows.filter((row) => isIn(group, row)).length;
  return {
    all: rows.length,
    attention: count('attention'),
    copying: count('copying'),
    changes: count('changes'),
    ready: count('ready'),
    committed: count('committed'),
  };
}

/** The requested rows, in the requested order. */
export function chosen(rows: readonly SyncRow[], { group, search, order }: Choice): SyncRow[] {
  const words = search.toLowerCase().split(/\s+/);
  return rows
    .filter((row) => isIn(group, row))
    .filter((row) => {
      const text = `${row.key} ${row.source} ${row.destination} ${row.phase}`.toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .sort((one, other) => compare(one, other, order) || one.key.localeCompare(other.key));
}

/** The rows after a change. Unchanged rows are the same objects. */
export function withChanges(
  rows: readonly SyncRow[],
  { changed, removed }: Changes,
): readonly SyncRow[] {
  const byKey = new Map(rows.map((row) => [row.key, row]));
  for (const key of removed) byKey.delete(key);
  for (const row of changed) byKey.set(row.key, row);
  return [...byKey.values()];
}

function compare(one: SyncRow, other: SyncRow, order: Order): number {
  switch (order) {
    case 'state':
      return rank(one) - rank(other);
    case 'name':
      return 0;
    case 'lag':
      return (other.lagSeconds ?? -1) - (one.lagSeconds ?? -1);
    case 'size':
      return (other.totalBytes ?? -1) - (one.totalBytes ?? -1);
  }
}

const ranks = new Map<string, number>(
  Object.entries({
    Paused: 1,
    Committing: 2,
    Reversing: 3,
    InitialCopy: 4,
    ChangeApplication: 5,
    Starting: 6,
    Pending: 7,
    Committed: 8,
  }),
);

/** What needs attention comes first, what is over comes last. */
function rank(row: SyncRow): number {
  return needsAttention(row) ? 0 : (ranks.get(row.phase) ?? 7);
}
