/** One row of the table of findings: what the check reports in addition to blockers, which are errors of `service/error-table.ts`. */
export interface FindingRow {
  /**
   * A `warning` is about a sync that can start, and will probably stop later, or harm something. An `advice` is about what to
   * know or to do apart from the sync, or about what could not be checked.
   */
  readonly severity: 'warning' | 'advice';
  /** What a person should do. */
  readonly action: string;
}

const warning = { severity: 'warning' } as const;
const advice = { severity: 'advice' } as const;

/** Every warning and advice of the check. The names are part of the API: new ones may be added, none is ever changed. */
export const findingTable = {
  OplogTooShort: {
    ...warning,
    action:
      'Enlarge the oplog of the source (replSetResizeOplog with size, or with minRetentionHours) before the start: a sync whose position the oplog has discarded stops, and needs a repair.',
  },
  DiskTooSmall: {
    ...warning,
    action:
      'Enlarge the disks of the destination, on every member, or exclude what is not needed there.',
  },
  IndexRefusedByDestination: {
    ...warning,
    action:
      'Drop the index on the source, or create it again as the destination accepts it, before the start: the commit would stop.',
  },
  TooManyIndexes: {
    ...warning,
    action:
      'Drop an index of the collection on the source: a collection has 64 at most, and the one that supports the shard key would be one more.',
  },
  IndexNameNotSupported: {
    ...warning,
    action:
      'Drop the index on the source and create it under another name, or exclude its collection: the sync would stop with NameNotSupported.',
  },
  ShardKeyHasArrays: {
    ...warning,
    action:
      'Correct the documents on the source, or choose another shard key: the sync would stop with InvalidShardKeyValue.',
  },
  DatabaseDiffersInCase: {
    ...warning,
    action:
      'Drop the database of that name on the destination, or exclude the one on the source: a server refuses two databases whose names differ only in case.',
  },
  ApplyOpsSeen: {
    ...warning,
    action:
      'Stop whatever writes to the source with applyOps (such as mongorestore --oplogReplay) before the start: the sync would stop with ApplyOpsOnSource.',
  },
  PresentDataDropped: {
    ...warning,
    action:
      'Make sure that this is the right destination, and exclude what is needed there: with initialData Present it becomes identical to the source.',
  },
  OtherDataBlocked: {
    ...warning,
    action:
      'Prepare the applications of that data for refused writes: write blocking applies to a whole deployment. Otherwise set enableUserWriteBlocking to false.',
  },
  WritesAlreadyBlocked: {
    ...warning,
    action:
      'Find out who has blocked writes there, and lift it if it is a leftover: db.adminCommand({setUserWriteBlockMode: 1, global: false}). The sync needs a user that bypasses it.',
  },
  MemberUnhealthy: {
    ...warning,
    action:
      'Repair the members that the description names, or remove them from the set: without a majority of members every write of the sync waits.',
  },
  FilterMatchesNothing: {
    ...warning,
    action:
      'Correct the filter entry if it is meant to match existing namespaces: perhaps a name is misspelt.',
  },
  ViewWithoutCollection: {
    ...warning,
    action:
      'Include the collection that the view is on, or exclude the view: on the destination it would be empty.',
  },
  DuplicateIdsFound: {
    ...warning,
    action:
      'On the source, delete all but one of the documents of each of these ids, or give them other ids, before the start: the sync would stop with DuplicateIds.',
  },
  ZoneWithoutShard: {
    ...warning,
    action:
      'Add a shard of the destination to the zone (sh.addShardToZone) before the start: otherwise the collections have no such zone there.',
  },
  PresentDataNotUsed: {
    ...advice,
    action:
      'Restore it with the options that it has on the source, or let the sync copy it as a whole: what is there is dropped.',
  },
  DuplicateIdsPossible: {
    ...advice,
    action:
      'Check again with detectDuplicateIds: true (--detect-duplicate-ids), which searches these collections: documents with the same _id on two shards would stop the sync with DuplicateIds.',
  },
  ShardKeysLeftOut: {
    ...advice,
    action:
      'Nothing, if that is what you want: on a replica set they are ordinary collections. Their indexes are copied, including those of the shard keys.',
  },
  ZonesLeftOut: {
    ...advice,
    action:
      'Make sure that nothing depends on where the documents of the zones are: on a replica set every member has all of them.',
  },
  LongTransaction: {
    ...advice,
    action:
      'Find out why the transaction stays open, and end it if it is forgotten (killSessions): its changes reach the destination only once it commits, and a commit of the sync may have to wait for it.',
  },
  UsersNotCopied: {
    ...advice,
    action:
      'Create the users that the applications need on the destination before they use it: a sync does not copy users.',
  },
  RolesNotCopied: {
    ...advice,
    action:
      'Create the roles that the applications need on the destination before they use it: a sync does not copy roles.',
  },
  StoredJavaScriptNotCopied: {
    ...advice,
    action: 'Copy the documents of system.js yourself if anything uses them.',
  },
  QuerySettingsNotCopied: {
    ...advice,
    action:
      'Set them on the destination as well (setQuerySettings): $querySettings lists those of the source.',
  },
  CopyEstimated: {
    ...advice,
    action:
      'Plan more than this time for the initial copy: the measurement was short, and indexes and other work take time, too.',
  },
  IndexesSlowCopy: {
    ...advice,
    action:
      'Consider buildIndexes: afterDataCopy (--build-indexes afterDataCopy), which copies them up to three times as fast. It cannot be changed once the sync has started.',
  },
  DiskTight: {
    ...advice,
    action: 'Watch the disks of the destination during the copy, on every member.',
  },
  OplogUnknown: {
    ...advice,
    action:
      'Make sure that the oplog of the source, of each shard if it is sharded, covers at least twice the time that the description names.',
  },
  DiskUnknown: {
    ...advice,
    action:
      'Make sure that each member of the destination has room for what the description names.',
  },
  NotChecked: {
    ...advice,
    action:
      'Remove the reason that the description names, and check again; or make sure of it yourself.',
  },
} as const satisfies Record<string, FindingRow>;

/** The name of a warning or an advice. */
export type FindingName = keyof typeof findingTable;
