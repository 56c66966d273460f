import type { Document, WriteConcernSettings } from 'mongodb';
import type { NamespaceInfo, ViewInfo } from '../../mongo/catalog.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { codeOf, isRefused, serverCode } from '../../mongo/server-errors.ts';
import { isSameOptions } from '../../mongo/specification.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import type { TrackedView } from '../store/records.ts';
import { madeByOthers, type DestinationCatalog } from './destination-catalog.ts';

/** The server's errors for a view that does not fit with the others there. */
const refusedForOthers = new Set<number | undefined>([
  serverCode.graphContainsCycle,
  serverCode.viewDepthLimitExceeded,
  serverCode.optionNotSupportedOnView,
  serverCode.viewPipelineMaxSizeExceeded,
  // The view to change is missing: its creation was refused.
  serverCode.namespaceNotFound,
]);

/** The views of the destination. */
export class DestinationViews {
  readonly #catalog: DestinationCatalog;

  constructor(catalog: DestinationCatalog) {
    this.#catalog = catalog;
  }

  /**
   * Creates a view on the destination, replacing one that differs: a view has no documents.
   * @throws SyncError ViewRefused; DestinationNotEmpty if a collection has the name.
   */
  async create(namespace: Namespace, options: Document): Promise<void> {
    await namingRefusals(namespace, async () => {
      if (await this.#createUnlessThere(namespace, options)) return;
      await this.drop(namespace);
      if (!(await this.#createUnlessThere(namespace, options))) throw madeByOthers(namespace);
    });
  }

  /**
   * Creates a view where nothing was when the sync was started. May be repeated.
   * @throws SyncError ViewRefused; DestinationNotEmpty if somebody else has made what has the name.
   */
  async createFirst(namespace: Namespace, options: Document): Promise<void> {
    await namingRefusals(namespace, async () => {
      if (await this.#createUnlessThere(namespace, options)) return;
      const there = await this.#catalog.namespaceAt(namespace);
      if (!isSameView(there, options)) throw madeByOthers(namespace);
    });
  }

  /** Drops a view. Leaves a collection that has taken its name. */
  async drop(namespace: Namespace): Promise<void> {
    const there = await this.#catalog.namespaceAt(namespace);
    if (there?.kind === 'view') await this.#catalog.drop(namespace);
  }

  /** Drops a view if it is still as the sync made it. @throws SyncError DestinationNotEmpty if something else has the name. */
  async dropMade(
    { namespace, options }: TrackedView,
    writeConcern?: WriteConcernSettings,
  ): Promise<void> {
    const there = await this.#catalog.namespaceAt(namespace);
    if (!there) return;
    if (!isSameView(there, options)) throw madeByOthers(namespace);
    await this.#catalog.drop(namespace, writeConcern);
  }

  /** Changes a view. @throws SyncError ViewRefused. */
  async modify(namespace: Namespace, change: Document): Promise<void> {
    await namingRefusals(namespace, async () => {
      await this.#catalog.modify(namespace, change);
    });
  }

  /** The views of a database. */
  async list(db: string): Promise<ViewInfo[]> {
    return (await this.#catalog.list(db)).filter((info) => info.kind === 'view');
  }

  /** @returns false if its name is taken. */
  async #createUnlessThere(namespace: Namespace, options: Document): Promise<boolean> {
    try {
      await this.#catalog.create(namespace, options);
      return true;
    } catch (error) {
      if (codeOf(error) !== serverCode.namespaceExists) throw error;
      return false;
    }
  }
}

/** True for a view with these options. */
export function isSameView(there: NamespaceInfo | undefined, options: Document): boolean {
  return there?.kind === 'view' && isSameOptions(there.options, options);
}

async function namingRefusals(namespace: Namespace, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!isRefused(error)) throw error;
    throw new SyncError(
      'ViewRefused',
      `the destination rejects the view ${namespaceText(namespace)}: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

/** True for the refusal of a view. */
export function isViewRefused(error: unknown): error is SyncError {
  return error instanceof SyncError && error.name === 'ViewRefused';
}

/**
 * True if a view was refused because of other views on the destination: those may be later than it, while change events are applied
 * over a later catalog.
 */
export function isRefusedForOthers({ cause }: SyncError): boolean {
  return refusedForOthers.has(codeOf(cause));
}
