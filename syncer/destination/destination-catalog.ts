import type { Document, UUID, WriteConcernSettings } from 'mongodb';
import {
  findInDatabase,
  listIndexes,
  listIndexBuilds,
  listNamed,
  listNamespaces,
  listUserDatabases,
  type CollectionInfo,
  type NamespaceInfo,
} from '../../mongo/catalog.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import { isSameNamespace, namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import { checkedWhenSent } from '../../mongo/write-guard.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import type { TrackedCollection } from '../store/records.ts';

/** How many small changes of the catalog run at a time: with more, a server takes longer in all (decision 0017). */
export const catalogSideBySide = 8;

const majority: WriteConcernSettings = { w: 'majority' };

/** Settings of an index build. */
export interface IndexSettings {
  /** Build only if the collection has this UUID. */
  readonly collectionUUID?: UUID | undefined;
  readonly comment?: string;
  /** For a caller that waits for a majority itself. */
  readonly writeConcern?: WriteConcernSettings;
  /** Throws if it must no longer be sent. Default: if this instance may not change the catalog. */
  readonly assertMaySend?: () => void;
}

/** A collection of the destination: its name, and its UUID if users may have put another in its place. */
export interface CollectionTarget {
  readonly namespace: Namespace;
  readonly uuid?: UUID;
}

/** The error for a collection that was created, but is not listed afterwards. */
export function notThere(namespace: Namespace): SyncError {
  return new SyncError(
    'InternalError',
    `${namespaceText(namespace)} was created but does not exist`,
  );
}

/** The error for something on the destination that the sync did not make, where it is about to put something. */
export function madeByOthers(namespace: Namespace): SyncError {
  return new SyncError(
    'DestinationNotEmpty',
    `${namespaceText(namespace)} was created on the destination since the start, but not by this sync`,
  );
}

/**
 * The catalog of the destination. Every change of it is sent from here: when it is sent, this instance must still be the one
 * that may, and when it resolves, a majority has it, unless the caller waits for that. Changes have no deadline.
 */
export class DestinationCatalog {
  readonly #deployment: Deployment;
  readonly #requireLease: () => void;
  readonly #signal: AbortSignal;

  /** @param requireLease - throws if this instance may not change the catalog because another one coordinates. */
  constructor(deployment: Deployment, requireLease: () => void, signal: AbortSignal) {
    this.#deployment = deployment;
    this.#requireLease = requireLease;
    this.#signal = signal;
  }

  /** Creates a collection or view with these options. */
  async create({ db, coll }: Namespace, options: Document, writeConcern = majority): Promise<void> {
    const run = async (): Promise<void> => {
      await this.#change(db, { create: coll, ...options }, writeConcern);
    };
    try {
      await run();
    } catch (error) {
      // Without `[`, the time would grow with the square of the length of the answer.
      const [, namesake] = /already have: \[([^[\]]+)\]/.exec(messageOf(error)) ?? [];
      if (codeOf(error) !== serverCode.databaseDiffersInCase || namesake === undefined) throw error;
      await this.#dropEmptyDatabase(namesake);
      await run();
    }
  }

  /** Drops a collection or view; one that is not there counts as dropped. */
  async drop({ db, coll }: Namespace, writeConcern = majority): Promise<void> {
    await tolerating([serverCode.namespaceNotFound], async () => {
      await this.#change(db, { drop: coll }, writeConcern);
    });
  }

  /**
   * Drops the collection if it still has this UUID.
   * @returns false if another one has its name, or none.
   */
  async dropCollection(
    { db, coll }: Namespace,
    collectionUUID: UUID,
    writeConcern = majority,
  ): Promise<boolean> {
    try {
      await this.#change(db, { drop: coll, collectionUUID }, writeConcern);
      return true;
    } catch (error) {
      const code = codeOf(error);
      if (code !== serverCode.namespaceNotFound && code !== serverCode.collectionUuidMismatch)
        throw error;
      return false;
    }
  }

  /**
   * Renames a collection. May be repeated: only where the collection of this UUID is now counts.
   * @throws SyncError DestinationNotEmpty if the new name is taken.
   */
  async rename(tracked: TrackedCollection, to: Namespace): Promise<void> {
    const now = await this.find(tracked);
    if (!now)
      throw new SyncError(
        'InternalError',
        `${namespaceText(tracked.namespace)} does not exist on the destination`,
      );
    if (isSameNamespace(now.namespace, to)) return;
    const [from, target] = [namespaceText(now.namespace), namespaceText(to)];
    try {
      await this.#change('admin', { renameCollection: from, to: target });
    } catch (error) {
      if (codeOf(error) !== serverCode.namespaceExists) throw error;
      throw madeByOthers(to);
    }
  }

  /** Builds indexes from specifications as listIndexes returns them. */
  async createIndexes(
    { db, coll }: Namespace,
    indexes: readonly IndexSpec[],
    {
      collectionUUID,
      comment,
      writeConcern = majority,
      assertMaySend = this.#requireLease,
    }: IndexSettings = {},
  ): Promise<void> {
    const command = {
      createIndexes: coll,
      indexes: indexes.map(withExplicitCollation),
      ...(collectionUUID ? { collectionUUID } : {}),
      ...(comment === undefined ? {} : { comment }),
    };
    await this.#change(db, command, writeConcern, assertMaySend);
  }

  /** Drops an index; one that is not there counts as dropped. */
  async dropIndex({ db, coll }: Namespace, name: string): Promise<void> {
    await tolerating([serverCode.indexNotFound, serverCode.namespaceNotFound], async () => {
      await this.#change(db, { dropIndexes: coll, index: name });
    });
  }

  /** Drops an index, unless the shard key needs it: such an index refuses no document. */
  async dropUnlessNeeded(namespace: Namespace, name: string): Promise<boolean> {
    try {
      await this.dropIndex(namespace, name);
      return true;
    } catch (error) {
      if (codeOf(error) !== serverCode.cannotDropShardKeyIndex) throw error;
      return false;
    }
  }

  /** Changes options of a collection or view, or an index. */
  async modify({ db, coll }: Namespace, change: Document): Promise<void> {
    await this.#change(db, { collMod: coll, ...change });
  }

  /** Converts a collection to capped, which gives it another UUID there. */
  async convertToCapped({ db, coll }: Namespace, size: unknown): Promise<void> {
    await this.#change(db, { convertToCapped: coll, size });
  }

  /**
   * Changes where the documents of a sharded collection are: a command for a router.
   * @param deadlineMs - `none` for a command whose time depends on the number of documents.
   */
  async place(command: Document, deadlineMs?: 'none'): Promise<void> {
    const checked = checkedWhenSent(command, this.#requireLease);
    const limit = deadlineMs && { deadlineMs };
    await runCommand(this.#deployment.admin, checked, { signal: this.#signal, ...limit });
  }

  /** The collection of a name. */
  async collectionAt({ db, coll }: Namespace): Promise<CollectionInfo | undefined> {
    const [found] = await listNamespaces(this.#deployment, db, this.#signal, { name: coll });
    return found?.kind === 'collection' ? found : undefined;
  }

  /** What has a name: a collection, a view, or something else. */
  async namespaceAt({ db, coll }: Namespace): Promise<NamespaceInfo | undefined> {
    const [found] = await listNamed(this.#deployment, db, [coll], this.#signal);
    return found;
  }

  /** A collection that the sync has made, by its UUID there, whatever its name is now. */
  async find({
    namespace,
    destinationUuid,
  }: Pick<TrackedCollection, 'namespace' | 'destinationUuid'>): Promise<
    CollectionInfo | undefined
  > {
    return await findInDatabase(this.#deployment, namespace, destinationUuid, this.#signal);
  }

  /** The databases of users. */
  async databases(): Promise<string[]> {
    return await listUserDatabases(this.#deployment, this.#signal);
  }

  /** Everything in a database. */
  async list(db: string): Promise<NamespaceInfo[]> {
    return await listNamespaces(this.#deployment, db, this.#signal);
  }

  /** The indexes of a collection; none if there is no collection. */
  async indexesOf(namespace: Namespace): Promise<IndexSpec[]> {
    return (await listIndexes(this.#deployment, namespace, this.#signal)) ?? [];
  }

  /** The names of the indexes that are being built on a collection. */
  async buildsOf(namespace: Namespace): Promise<readonly string[]> {
    return await listIndexBuilds(this.#deployment, namespace, this.#signal);
  }

  /** Bytes of the documents of a collection; null if the account may not read that, which a sync does not need. */
  async sizeOf({ db, coll }: Namespace): Promise<number | null> {
    try {
      const stats = await runCommand(
        this.#deployment.decoded.db(db),
        { collStats: coll },
        { signal: this.#signal },
      );
      return stats.field('size').count();
    } catch (error) {
      if (codeOf(error) !== serverCode.unauthorized) throw error;
      return null;
    }
  }

  /** Whether a collection has no documents. */
  async isEmpty({ db, coll }: Namespace): Promise<boolean> {
    const find = { find: coll, limit: 1, singleBatch: true, projection: { _id: 1 } };
    const answer = await runCommand(this.#deployment.decoded.db(db), find, {
      signal: this.#signal,
    });
    return answer.field('cursor').field('firstBatch').list().length === 0;
  }

  async #change(
    db: string,
    change: Document,
    writeConcern = majority,
    assertMaySend = this.#requireLease,
  ): Promise<void> {
    const command = checkedWhenSent({ ...change, writeConcern }, assertMaySend);
    const { decoded } = this.#deployment;
    await runCommand(decoded.db(db), command, { signal: this.#signal, deadlineMs: 'none' });
  }

  /**
   * Drops a database that has no collections left. The server keeps such a database open, and refuses another whose name
   * differs only in case.
   */
  async #dropEmptyDatabase(db: string): Promise<void> {
    if ((await this.list(db)).length === 0) await this.#change(db, { dropDatabase: 1 });
  }
}

/** Without a collation an index would get its collection's. Version 1 has none, and cannot be in a collection with one. */
function withExplicitCollation(spec: IndexSpec): Document {
  if (spec['collation'] !== undefined || Number(spec['v']) < 2) return spec;
  return { ...spec, collation: { locale: 'simple' } };
}

async function tolerating(codes: readonly number[], run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined || !codes.includes(code)) throw error;
  }
}
