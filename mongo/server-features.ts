import { isOlderVersion } from './topology.ts';

/**
 * What servers from 6.0 on do or have differently, and what a sync does about it. This is the only place that knows.
 *
 * Where a server tells what it can do (by an event, an option, a field, an error), that decides: the tables of events and
 * options hold for every release, and a sync refuses what they do not name. It asks for the release only where nothing tells
 * ({@link hasFeature}).
 *
 * A destination is never older than its source (check-versions.ts), so it can have whatever the source has and a newer server
 * still knows ({@link hasOption}): clustered collections (5.3), compound wildcard indexes (7.0), the validation action
 * `errorAndLog` (8.1). The command `bulkWrite` (8.0)
 * makes the events of ordinary writes, and a sync does not send it. Nor does it send `bypassEmptyTsReplacement` (8.0, and later
 * patches of older releases): a pipeline stores zero timestamps in every release (altered-documents.ts).
 *
 * Sources: the server's manual, https://www.mongodb.com/docs/manual/, by page, and its code, https://github.com/mongodb/mongo,
 * by file (6.0 to the branch after 8.2).
 */

/** What servers do or have from a release on without telling. */
const features = {
  /**
   * Change streams show what a client writes by the command applyOps. Before, they omit entries of the oplog with several
   * operations that have no session and transaction number (src/mongo/db/pipeline/change_stream_filter_helpers.cpp).
   */
  appliedOpsInChangeStreams: '6.1',
  /**
   * The size of a capped collection is stored as it is given. Before (6.0.27, seen there), it is rounded up to a multiple of 256
   * bytes, while the event of a collMod has the size that was given.
   */
  exactCappedSizes: '7.0',
  /** Change streams report reshardCollection (seen on 6.0.27), before anything is written to its result. */
  reshardingInChangeStreams: '6.0.14',
  /** A change of the featureCompatibilityVersion has to be confirmed (7.0.28); before (6.0.27), the command has no such field. */
  confirmedFeatureVersions: '7.0',
  /**
   * A change of the featureCompatibilityVersion ends on no shard before all have prepared it (seen on 7.0.28). Before (6.0.27),
   * it ends on each separately.
   */
  featureVersionsInPhases: '7.0',
  /** TTL indexes whose `expireAfterSeconds` is NaN are refused (7.0.28, seen there); 6.0 creates them. */
  nanExpiryRefused: '7.0',
} as const;

/** The name of a {@link features feature}. */
export type ServerFeature = keyof typeof features;

/** Whether a server of a version, such as `6.0.27`, has a feature. */
export function hasFeature(version: string, feature: ServerFeature): boolean {
  return !isOlderVersion(version, features[feature]);
}

/** What is known of an event or an option. */
interface Known<Fate> {
  /** The first release that has it. */
  readonly since: string;
  /** The first release that no longer has it; undefined if all later ones do. */
  readonly until?: string;
  readonly fate: Fate;
}

/** What happens to a change event that is not about a document: it is applied, skipped, or stops the sync if it affects it. */
export type EventFate = 'applied' | 'passedOver' | 'refused';

/** The event at the end of a transaction, behind a feature flag: the only one without a namespace. It changes nothing. */
export const endOfTransaction = 'endOfTransaction';

/**
 * The change events that a stream with `showExpandedEvents` shows, apart from those of documents (manual:
 * reference/change-events; src/mongo/db/pipeline/change_stream_event_transform.cpp). Others are shown only on request
 * (`showSystemEvents`, `supportedEvents`).
 */
const changeEvents: ReadonlyMap<string, Known<EventFate>> = new Map([
  ['create', { since: '6.0', fate: 'applied' }],
  ['createIndexes', { since: '6.0', fate: 'applied' }],
  ['drop', { since: '4.0', fate: 'applied' }],
  ['dropDatabase', { since: '4.0', fate: 'applied' }],
  ['dropIndexes', { since: '6.0', fate: 'applied' }],
  ['modify', { since: '6.0', fate: 'applied' }],
  ['rename', { since: '4.0', fate: 'applied' }],
  ['shardCollection', { since: '6.0', fate: 'applied' }],
  [endOfTransaction, { since: '7.1', fate: 'passedOver' }],
  // The keys are settled at the commit (settleShardKeys), also for a source that does not report it.
  ['refineCollectionShardKey', { since: '6.1', fate: 'passedOver' }],
  // The collection gets another UUID, which only a replica set can follow (CatalogChanges). Such are also `moveCollection` and
  // `unshardCollection` (8.0).
  ['reshardCollection', { since: '6.0.14', fate: 'refused' }],
  ['reshardBegin', { since: '6.0', fate: 'refused' }],
  ['reshardDoneCatchUp', { since: '6.0', fate: 'refused' }],
]);

/** The fate of an event, by its `operationType`. Unknown ones are refused: they may change what is synced. */
export function fateOfEvent(operation: string): EventFate {
  return changeEvents.get(operation)?.fate ?? 'refused';
}

/** What happens to an option of a collection: the destination gets it, its server decides it, or the collection is refused. */
export type OptionFate = 'copied' | 'ofServer' | 'refused';

/**
 * The options of collections and views in listCollections, and in the events `create` and `modify` (manual:
 * reference/command/create; src/mongo/db/catalog/collection_options.cpp, src/mongo/db/coll_mod.idl). Some have another form
 * until the commit (replicated-form.ts).
 */
const collectionOptions: ReadonlyMap<string, Known<OptionFate>> = new Map([
  ['autoIndexId', { since: '2.2', fate: 'copied' }],
  ['capped', { since: '2.2', fate: 'copied' }],
  ['size', { since: '2.2', fate: 'copied' }],
  ['max', { since: '2.2', fate: 'copied' }],
  ['flags', { since: '2.2', fate: 'copied' }],
  ['temp', { since: '2.2', fate: 'copied' }],
  ['storageEngine', { since: '3.0', fate: 'copied' }],
  ['indexOptionDefaults', { since: '3.2', fate: 'copied' }],
  ['validator', { since: '3.2', fate: 'copied' }],
  ['validationLevel', { since: '3.2', fate: 'copied' }],
  ['validationAction', { since: '3.2', fate: 'copied' }],
  ['collation', { since: '3.4', fate: 'copied' }],
  ['pipeline', { since: '3.4', fate: 'copied' }],
  ['viewOn', { since: '3.4', fate: 'copied' }],
  // 7.0.28 refuses commands with it (seen there), 6.0.27 takes it: it puts documents as they were into the oplog.
  ['recordPreImages', { since: '4.2', until: '7.0', fate: 'copied' }],
  ['expireAfterSeconds', { since: '5.0', fate: 'copied' }],
  ['timeseries', { since: '5.0', fate: 'refused' }],
  ['clusteredIndex', { since: '5.3', fate: 'copied' }],
  ['changeStreamPreAndPostImages', { since: '6.0', fate: 'copied' }],
  ['encryptedFields', { since: '6.0', fate: 'copied' }],
  // How the members of a replica set number documents: behind a feature flag, and not for clients.
  ['recordIdsReplicated', { since: '8.0', fate: 'ofServer' }],
]);

/** The fate of an option of a collection. Unknown ones are refused: they may need another form until the commit. */
export function fateOfOption(option: string): OptionFate {
  return collectionOptions.get(option)?.fate ?? 'refused';
}

/** Whether a server of a version takes a known option of a collection that older ones have. */
export function hasOption(version: string, option: string): boolean {
  const until = collectionOptions.get(option)?.until;
  return until === undefined || isOlderVersion(version, until);
}

/**
 * The fields of `index` in the event `modify` (src/mongo/db/coll_mod.idl). The server replaces `keyPattern` by the name (seen on
 * 6.0.27 and 7.0.28), and a time to live that is not a number by one (there as well, when an index is created or changed).
 */
const indexChanges: ReadonlySet<string> = new Set([
  ...['name', 'expireAfterSeconds', 'hidden'],
  // Since 6.0.
  ...['unique', 'prepareUnique', 'forceNonUnique'],
]);

/** Whether it is known how to apply a change of this field of an index. */
export function isKnownIndexChange(field: string): boolean {
  return indexChanges.has(field);
}
