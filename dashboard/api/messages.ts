import type { SyncDetail, SyncRow } from './sync-view.ts';

/** What is shown, and how recent it is. */
export interface PageScope {
  /** The scope: `all namespaces`, for example. */
  readonly scope: string;
  /** If figures are older than a second, says so in words; null otherwise. */
  readonly staleness: string | null;
}

/** Facts about the whole page. */
export interface PageInfo extends PageScope {
  /** Of the program that serves it. */
  readonly version: string;
  /** Address of a page of the documentation, with `{page}` for its path without the ending; null if none is known. */
  readonly docsUrl: string | null;
}

/** Answer of `GET /api/v1/syncs`, and data of the event `snapshot` of its stream. */
export interface Snapshot {
  readonly page: PageInfo;
  readonly syncs: readonly SyncRow[];
}

/** Data of the event `changes`: the rows that are new or have changed, and the keys of those that are gone. */
export interface Changes {
  readonly changed: readonly SyncRow[];
  readonly removed: readonly string[];
}

/** Time in seconds since 1970, bytes copied, lag in seconds, events applied, how many seconds the oplog lasts. */
export type HistoryPoint = readonly [
  atSeconds: number,
  copiedBytes: number | null,
  lagSeconds: number | null,
  eventsApplied: number | null,
  oplogSeconds: number | null,
];

/** Answer of `GET /api/v1/syncs/<namespace>/<name>`. */
export interface SyncReport extends SyncDetail {
  readonly page: PageInfo;
  readonly row: SyncRow;
  readonly history: readonly HistoryPoint[];
}

/** Data of the event `sync` of its stream: the parts that have changed. */
export type SyncReportChanges = Partial<SyncReport>;
