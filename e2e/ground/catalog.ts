import { createHash } from 'node:crypto';
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
    for (const bytes of await list(db, { listCollections: 1 })) {
      const info = fieldsOf(bytes);
      const collection = String(info.get('name')?.value);
      const namespace = `${name}.${collection}`;
      if (systemCollections.has(collection) || exclude.includes(namespace)) continue;
      // The server keeps it for a command that is under way, or has failed, and drops it by itself.
      if (fieldsOf(info.get('options')?.bytes).get('temp')?.value === true) continue;
      entries.push([namespace, await readEntry(db, collection, info)]);
    }
  }
  return new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function readEntry(db: Db, collection: string, info: Fields): Promise<CatalogEntry> {
  const type = String(info.get('type')?.value);
  const options = fieldsOf(info.get('options')?.bytes);
  const specs = type === 'view' ? [] : await list(db, { listIndexes: collection });
  const uneven = type === 'view' ? new Set() : await unevenIndexes(db, collection);
  const indexes = specs.map(fieldsOf).filter((spec) => !uneven.has(spec.get('name')?.value));
  return {
    database: db.databaseName,
    collection,
    type,
    isCapped: options.get('capped')?.value === true,
    options: canonicalText(options),
    indexes: new Map(indexes.map((spec) => [String(spec.get('name')?.value), canonicalText(spec)])),
  };
}

/** The names of indexes that some shards have of a collection and others do not: they are none of the collection. */
async function unevenIndexes(db: Db, collection: string): Promise<ReadonlySet<unknown>> {
  const rows: Document[] = await db
    .collection(collection)
    .aggregate([{ $indexStats: {} }], { enableUtf8Validation: false })
    .toArray();
  const shards = new Set(rows.map(({ shard }) => String(shard)));
  const names = rows.map(({ name }) => String(name));
  return new Set(
    names.filter((name) => names.filter((other) => other === name).length < shards.size),
  );
}

/** One field: its value decoded, with its BSON type, and its bytes. */
interface Field {
  readonly value: unknown;
  readonly bytes: Buffer;
}

type Fields = ReadonlyMap<string, Field>;

/** All that a listing command returns, as bytes. */
async function list(db: Db, command: Document): Promise<readonly Buffer[]> {
  const documents: unknown[] = await db.runCursorCommand(command, { raw: true }).toArray();
  return documents as Buffer[];
}

function fieldsOf(document: Buffer | undefined): Fields {
  if (document === undefined) return new Map();
  const decoded = BSON.deserialize(document, {
    promoteValues: false,
    bsonRegExp: true,
    validation: { utf8: false },
  });
  const fields = new Map<string, Field>();
  for (const element of BSON.onDemand.parseToElements(document)) {
    const [, nameOffset, nameLength, offset, length] = element;
    const name = document.toString('utf8', nameOffset, nameOffset + nameLength);
    const bytes = document.subarray(offset, offset + length);
    fields.set(name, { value: decoded[name] as unknown, bytes });
  }
  return fields;
}

/** Equal for documents with the same fields, in whatever order at the top, with values of the same types and bytes. */
function canonicalText(fields: Fields): string {
  const texts = [...fields]
    .filter(([name]) => name !== 'uuid' && name !== 'ns')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { value, bytes }]) => `${JSON.stringify(name)}: ${valueText(value, bytes)}`);
  return `{${texts.join(', ')}}`;
}

function valueText(value: unknown, bytes: Buffer): string {
  // Not UTF-8, perhaps: the text does not show it.
  if (typeof value === 'string' && value.includes('\u{fffd}')) return bytes.toString('hex');
  const text = EJSON.stringify(value, { relaxed: false });
  // The text shows no order of fields that are named by numbers.
  return typeof value === 'object' && value !== null
    ? `${text} #${createHash('sha256').update(bytes).digest('hex').slice(0, 8)}`
    : text;
}
