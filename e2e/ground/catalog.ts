import { BSON, type Db, type Document, type MongoClient } from 'mongodb';

const { EJSON } = BSON;

const systemDatabases = new Set([
  'admin',
  'local',
  'config',
  'clustersync_internal',
  'clustersync_verifier',
]);

/** The server keeps these itself: views are compared as such, and a profile belongs to one server. */
const systemCollections = new Set(['system.views', 'system.profile']);

/** What a cluster holds, apart from documents. */
export interface CatalogEntry {
  readonly database: string;
  readonly collection: string;
  /** `collection`, `view` or `timeseries`. */
  readonly type: string;
  readonly isCapped: boolean;
  /** Canonical text of the options, without what differs between clusters (UUID). */
  readonly options: string;
  /** Canonical text of each index, by name. Empty for a view. */
  readonly indexes: ReadonlyMap<string, string>;
}

/** All collections and views of the user databases by namespace, in the order of their namespaces. */
export async function readCatalog(
  client: MongoClient,
  exclude: readonly string[],
): Promise<ReadonlyMap<string, CatalogEntry>> {
  const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
  const entries: (readonly [string, CatalogEntry])[] = [];
  for (const { name } of databases) {
    if (systemDatabases.has(name) || exclude.includes(name)) continue;
    const db = client.db(name);
    for (const info of await list(db, { listCollections: 1 })) {
      const collection = String(info['name']);
      const namespace = `${name}.${collection}`;
      if (systemCollections.has(collection) || exclude.includes(namespace)) continue;
      entries.push([namespace, await readEntry(db, collection, info)]);
    }
  }
  return new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function readEntry(db: Db, collection: string, info: Document): Promise<CatalogEntry> {
  const type = String(info['type']);
  const options = info['options'] as Document;
  const specs = type === 'view' ? [] : await list(db, { listIndexes: collection });
  return {
    database: db.databaseName,
    collection,
    type,
    isCapped: options['capped'] === true,
    options: canonicalText(options),
    indexes: new Map(specs.map((spec) => [String(spec['name']), canonicalText(spec)])),
  };
}

/** All that a listing command returns, with the BSON type of every value. */
async function list(db: Db, command: Document): Promise<readonly Document[]> {
  const options = { promoteValues: false, bsonRegExp: true, enableUtf8Validation: false };
  const cursor = db.runCursorCommand(command, options);
  return (await cursor.toArray()) as Document[];
}

/**
 * Equal for documents with the same fields, in whatever order, with equal values. A number right at the top (a size, a
 * version, a time to live) counts by its value alone; everything deeper (keys, filters, validators) by type and order.
 */
function canonicalText(document: Document): string {
  const fields = Object.entries(document)
    .filter(([name]) => name !== 'uuid' && name !== 'ns')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => {
      const relaxed = isNumber(value);
      return `${JSON.stringify(name)}: ${EJSON.stringify(value, { relaxed })}`;
    });
  return `{${fields.join(', ')}}`;
}

function isNumber(value: unknown): boolean {
  return value instanceof BSON.Int32 || value instanceof BSON.Long || value instanceof BSON.Double;
}
