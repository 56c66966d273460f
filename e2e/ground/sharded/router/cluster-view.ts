import { BSON, Timestamp, type Document } from 'mongodb';
import { elementsOf, RawWriter, valueBytes, type RawDocument } from '../../../../mongo/raw-bson.ts';
import { failure, isStale, succeeded } from './command-failure.ts';
import { ServerPool } from './server-pool.ts';
import { decode, encode, type DocumentSequence } from './wire.ts';

/** Where the servers of a cluster are. */
export interface ClusterAddresses {
  /** The config server. */
  readonly config: string;
  /** The content of the key file. */
  readonly key: string;
}

/** A row of config.databases. */
export interface DatabaseRow {
  readonly _id: string;
  readonly primary: string;
  readonly version: Document;
}

/** A row of config.collections: a sharded collection. */
export interface CollectionRow {
  readonly _id: string;
  readonly key: Document;
  readonly uuid: unknown;
  readonly lastmodEpoch: unknown;
  readonly timestamp: unknown;
}

/** A row of config.chunks. */
export interface ChunkRow {
  readonly min: Document;
  readonly max: Document;
  readonly shard: string;
}

/** Who holds a collection. */
export interface Placement {
  /** Undefined when it is not sharded. */
  readonly collection: CollectionRow | undefined;
  /** Undefined when the database does not exist. */
  readonly database: DatabaseRow | undefined;
  /** The owning shards, each with the fields that a command for it has to carry. */
  readonly owners: ReadonlyMap<string, Document>;
}

/** Where a command is to be run: on the config server, or on the shard of this id. */
export type Target = 'config' | { readonly shard: string };

export const majority = { writeConcern: { w: 'majority', wtimeout: 60_000 } } as const;

/** How often a command is repeated because chunks or databases have moved in the meantime. */
export const staleTries = 50;

const epochZero = new BSON.ObjectId('000000000000000000000000');
const timestampZero = new Timestamp({ t: 0, i: 0 });

/** A cluster as a router knows it: its servers, its placement (read again each time), its cluster time. */
export class ClusterView {
  readonly #key: string;
  readonly #config: string;
  readonly #pools = new Map<string, ServerPool>();
  #shards: ReadonlyMap<string, string> = new Map();
  #clock: { readonly time: Timestamp; readonly raw: RawDocument } | undefined;

  constructor({ config, key }: ClusterAddresses) {
    this.#config = config;
    this.#key = key;
  }

  /** Takes note of the cluster time in a command or an answer. */
  observe(document: RawDocument): void {
    const element = elementsOf(document).find(({ name }) => name === '$clusterTime');
    if (element === undefined) return;
    const raw = valueBytes(element);
    const time = decode(raw)['clusterTime'] as Timestamp;
    if (this.#clock === undefined || time.compare(this.#clock.time) > 0) {
      this.#clock = { time, raw: Uint8Array.from(raw) };
    }
  }

  /** Adds what the router knows of the cluster time to a command; to an answer, also as its operation time. */
  addClusterTime(writer: RawWriter, kind: 'command' | 'answer'): void {
    if (this.#clock === undefined) return;
    writer.document('$clusterTime', this.#clock.raw);
    if (kind === 'command') return;
    const [time] = elementsOf(this.#clock.raw).filter(({ name }) => name === 'clusterTime');
    if (time) writer.value('operationTime', time);
  }

  /** Runs a command at an address and gives the answer as bytes, whatever it says. */
  async sendTo(
    address: string,
    body: RawDocument,
    signal: AbortSignal,
    sequences?: readonly DocumentSequence[],
  ): Promise<RawDocument> {
    let pool = this.#pools.get(address);
    if (pool === undefined) {
      pool = new ServerPool(address, this.#key);
      this.#pools.set(address, pool);
    }
    const writer = new RawWriter(body.length + 256);
    for (const element of elementsOf(body)) {
      if (element.name !== '$clusterTime') writer.value(element.name, element);
    }
    this.addClusterTime(writer, 'command');
    const answer = await pool.send(writer.finish(), signal, sequences);
    this.observe(answer);
    return answer;
  }

  /** Runs a command on the config server or a shard and gives the answer, whatever it says. */
  async answerOf(target: Target, command: Document, signal: AbortSignal): Promise<Document> {
    return decode(await this.sendTo(await this.addressOf(target, signal), encode(command), signal));
  }

  /** Runs a command on the config server or a shard. @throws CommandFailure */
  async run(target: Target, command: Document, signal: AbortSignal): Promise<Document> {
    return succeeded(await this.answerOf(target, command, signal));
  }

  async addressOf(target: Target, signal: AbortSignal): Promise<string> {
    if (target === 'config') return this.#config;
    const address = this.#shards.get(target.shard) ?? (await this.shards(signal)).get(target.shard);
    if (address === undefined) throw failure('ShardNotFound', `there is no shard ${target.shard}`);
    return address;
  }

  /** The addresses of the shards by their ids, as the config server has them now. */
  async shards(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const rows = await this.find('shards', {}, signal);
    // "<set>/<address>": a shard of the tests has one member.
    this.#shards = new Map(
      rows.map((row) => [String(row['_id']), String(row['host']).replace(/^.*\//, '')]),
    );
    return this.#shards;
  }

  /** All documents of a collection of the config database that match. */
  async find(
    collection: string,
    filter: Document,
    signal: AbortSignal,
    options: Document = {},
  ): Promise<Document[]> {
    const found: Document[] = [];
    let answer = await this.run(
      'config',
      { find: collection, filter, batchSize: 10_000, ...options, $db: 'config' },
      signal,
    );
    let cursor = answer['cursor'] as { id: unknown; firstBatch: Document[] };
    found.push(...cursor.firstBatch);
    while (String(cursor.id) !== '0') {
      const getMore = { getMore: cursor.id, collection, $db: 'config' };
      answer = await this.run('config', getMore, signal);
      const next = answer['cursor'] as { id: unknown; nextBatch: Document[] };
      found.push(...next.nextBatch);
      cursor = { id: next.id, firstBatch: [] };
    }
    return found;
  }

  async database(db: string, signal: AbortSignal): Promise<DatabaseRow | undefined> {
    const [row] = await this.find('databases', { _id: db }, signal);
    return row as DatabaseRow | undefined;
  }

  /** The database, which is created when it does not exist. @throws CommandFailure when it is elsewhere. */
  async ensureDatabase(db: string, signal: AbortSignal, primary?: string): Promise<DatabaseRow> {
    const there = await this.database(db, signal);
    if (there && (primary === undefined || primary === there.primary)) return there;
    const create = {
      _configsvrCreateDatabase: db,
      primaryShardId: primary,
      ...majority,
      $db: 'admin',
    };
    await this.run('config', create, signal);
    const created = await this.database(db, signal);
    if (!created) throw failure('NamespaceNotFound', `the database ${db} was dropped meanwhile`);
    return created;
  }

  async collection(ns: string, signal: AbortSignal): Promise<CollectionRow | undefined> {
    const [row] = await this.find('collections', { _id: ns }, signal);
    return row as CollectionRow | undefined;
  }

  /** Where the parts of a collection are now. */
  async placement(ns: string, signal: AbortSignal): Promise<Placement> {
    const collection = await this.collection(ns, signal);
    const database = await this.database(ns.slice(0, ns.indexOf('.')), signal);
    if (collection === undefined) {
      const shardVersion = { e: epochZero, t: timestampZero, v: timestampZero };
      const owners = new Map<string, Document>();
      if (database) {
        owners.set(database.primary, { shardVersion, databaseVersion: database.version });
      }
      return { collection, database, owners };
    }
    const newest: Document[] = [
      { $match: { uuid: collection.uuid } },
      { $group: { _id: '$shard', v: { $max: '$lastmod' } } },
    ];
    const answer = await this.run(
      'config',
      { aggregate: 'chunks', pipeline: newest, cursor: {}, $db: 'config' },
      signal,
    );
    const rows = (answer['cursor'] as { firstBatch: { _id: string; v: unknown }[] }).firstBatch;
    const version = { e: collection.lastmodEpoch, t: collection.timestamp };
    return {
      collection,
      database,
      owners: new Map(
        rows.map(({ _id, v }) => [_id, { shardVersion: { ...version, v } }] as const),
      ),
    };
  }

  /** Runs a command on every shard that owns a part of a collection; again if the placement has changed in the meantime. */
  async runOnOwners(
    ns: string,
    command: Document,
    signal: AbortSignal,
  ): Promise<{ readonly placement: Placement; readonly answers: ReadonlyMap<string, Document> }> {
    const $db = ns.slice(0, ns.indexOf('.'));
    for (let attempt = 0; ; attempt++) {
      const placement = await this.placement(ns, signal);
      const answers = await Promise.all(
        Array.from(placement.owners, async ([shard, version]) => {
          const whole = { ...command, ...version, $db };
          return [shard, await this.answerOf({ shard }, whole, signal)] as const;
        }),
      );
      if (attempt < staleTries && answers.some(([, answer]) => isStale(answer))) continue;
      for (const [, answer] of answers) succeeded(answer);
      return { placement, answers: new Map(answers) };
    }
  }

  /** Runs a command on the primary shard of a database; again if it has moved in the meantime. @throws CommandFailure */
  async runOnPrimary(
    db: string,
    command: Document,
    signal: AbortSignal,
    { $db = db, isCreating = false }: { readonly $db?: string; readonly isCreating?: boolean } = {},
  ): Promise<Document> {
    for (let attempt = 0; ; attempt++) {
      const database = isCreating
        ? await this.ensureDatabase(db, signal)
        : await this.database(db, signal);
      if (!database) throw failure('NamespaceNotFound', `database ${db} not found`);
      const whole = { ...command, databaseVersion: database.version, ...majority, $db };
      const answer = await this.answerOf({ shard: database.primary }, whole, signal);
      if (attempt >= staleTries || !isStale(answer)) return succeeded(answer);
    }
  }
}
