/** A collection or view of a database. */
export interface Namespace {
  readonly db: string;
  readonly coll: string;
}

/** The database on the destination that holds the state of a sync. */
export const syncDatabase = 'clustersync_internal';

/** The database in the metadata store that holds the state of a verification. */
export const verifierDatabase = 'clustersync_verifier';

const internalDatabases = new Set(['admin', 'config', 'local', syncDatabase, verifierDatabase]);

/** mongosync keeps its own state in databases of these names. */
const internalPrefixes = ['__mdb_internal', 'mongosync_internal', 'mongosync_reserved'];

/** True for databases that are never synced nor verified: the server's own, and those of sync tools. */
export function isInternalDatabase(db: string): boolean {
  return internalDatabases.has(db) || internalPrefixes.some((prefix) => db.startsWith(prefix));
}

/** True for collections that belong to the server. `system.buckets.*` hold time-series, `system.js` is legacy. */
export function isSystemCollection(coll: string): boolean {
  return coll.startsWith('system.');
}

/** `db.coll`. */
export function namespaceText({ db, coll }: Namespace): string {
  return `${db}.${coll}`;
}

/** The namespace of a `db.coll`: names of databases have no dots. */
export function namespaceFrom(text: string): Namespace {
  const dot = text.indexOf('.');
  return { db: text.slice(0, dot), coll: text.slice(dot + 1) };
}

export function isSameNamespace(left: Namespace, right: Namespace): boolean {
  return left.db === right.db && left.coll === right.coll;
}
