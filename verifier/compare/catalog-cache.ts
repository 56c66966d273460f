import type { Namespace } from '../../mongo/namespace.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import type { CatalogContext, NamespacePair } from './namespace-pairs.ts';
import { readNamespacePairs } from './namespace-pairs.ts';

/** Databases of which the catalogs of both sides are held. */
const maxDatabases = 4;

/** The catalogs of both sides, read once for each database that tasks of a pass are about. */
export class CatalogCache {
  readonly #context: CatalogContext;
  readonly #databases = new Map<string, Promise<ReadonlyMap<string, NamespacePair>>>();

  constructor(context: CatalogContext) {
    this.#context = context;
  }

  /** What both sides have under a name: of a name that neither has, nothing on either. */
  async pair(namespace: Namespace): Promise<NamespacePair> {
    const pairs = await this.#read(namespace.db);
    return (
      pairs.get(namespaceText(namespace)) ?? {
        namespace,
        source: undefined,
        destination: undefined,
      }
    );
  }

  async #read(db: string): Promise<ReadonlyMap<string, NamespacePair>> {
    const known = this.#databases.get(db);
    if (known) return await known;
    const [oldest] = this.#databases.keys();
    if (oldest !== undefined && this.#databases.size >= maxDatabases)
      this.#databases.delete(oldest);
    const reading = readNamespacePairs(this.#context, [db]);
    this.#databases.set(db, reading);
    try {
      return await reading;
    } catch (error) {
      this.#databases.delete(db);
      throw error;
    }
  }
}
