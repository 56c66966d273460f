import type { WriteConcernSettings } from 'mongodb';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { isIdIndex, replicatedIndex } from '../../mongo/replicated-form.ts';
import { isIndexRefused } from '../../mongo/server-errors.ts';
import { isSameSpec, type IndexSpec } from '../../mongo/specification.ts';
import { messageOf } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { DestinationCatalog } from './destination-catalog.ts';
import type { DestinationKind } from './destination-kind.ts';
import type { LeftIndexes } from './left-indexes.ts';

/** What building the destination's indexes needs. */
interface IndexParts {
  readonly catalog: DestinationCatalog;
  readonly kind: DestinationKind;
  readonly leftIndexes: LeftIndexes;
  readonly options: Pick<StartOptions, 'buildIndexes'>;
  readonly logger: Logger;
  /** See Destination.step. */
  readonly step: (work: string, run: () => Promise<void>) => Promise<void>;
}

/** The indexes of the destination in their replicated form, as they are until the commit. */
export class ReplicatedIndexes {
  readonly #parts: IndexParts;

  constructor(parts: IndexParts) {
    this.#parts = parts;
  }

  /**
   * Creates indexes in their replicated form. One that the destination refuses is left to the commit: it conflicts with another
   * on the same keys while it is not unique, or with documents that came after it was dropped.
   */
  async create(
    namespace: Namespace,
    trueSpecs: readonly IndexSpec[],
    writeConcern?: WriteConcernSettings,
  ): Promise<void> {
    const { catalog } = this.#parts;
    const specs = this.#wanted(trueSpecs).map(replicatedIndex);
    if (specs.length === 0) return;
    try {
      await catalog.createIndexes(namespace, specs, writeConcern && { writeConcern });
    } catch (error) {
      if (!isIndexRefused(error)) throw error;
      for (const spec of specs) await this.#createOne(namespace, spec);
    }
  }

  /** Creates indexes of a collection of this size as {@link create} does, but changes do not wait for the build. */
  async createLater(
    tracked: TrackedCollection,
    trueSpecs: readonly IndexSpec[],
    bytes: number,
  ): Promise<void> {
    for (const { name } of this.#wanted(trueSpecs))
      await this.#parts.leftIndexes.buildLater(tracked, name, bytes);
  }

  /** Creates the indexes of a collection that has been copied, and retries after temporary errors. */
  async createAfterCopy({
    namespace,
    indexes,
  }: Pick<TrackedCollection, 'namespace' | 'indexes'>): Promise<void> {
    await this.#parts.step('index build', async () => {
      await this.create(namespace, indexes);
    });
  }

  /** Leaves an index to the commit. To be called before it is dropped. */
  async leave(namespace: Namespace, name: string, error: unknown): Promise<void> {
    const { leftIndexes, logger } = this.#parts;
    await leftIndexes.leave(namespace, name, error);
    logger.debug(
      { namespace: namespaceText(namespace), index: name, reason: messageOf(error) },
      'index is left to the commit',
    );
  }

  #wanted(trueSpecs: readonly IndexSpec[]): readonly IndexSpec[] {
    if (this.#parts.options.buildIndexes === 'never') return [];
    return trueSpecs.filter((spec) => !isIdIndex(spec));
  }

  async #createOne(namespace: Namespace, spec: IndexSpec): Promise<void> {
    const { catalog, kind } = this.#parts;
    try {
      const present = await catalog.indexesOf(namespace);
      const sameName = present.find(({ name }) => name === spec.name);
      // The same name with another specification: the events that made this one are still to come, or are repeated.
      if (sameName && !isSameSpec(sameName, spec)) await catalog.dropIndex(namespace, spec.name);
      await catalog.createIndexes(namespace, [spec]);
    } catch (error) {
      if (!isIndexRefused(error)) throw error;
      await this.leave(namespace, spec.name, error);
      if (kind.buildsOnEachShard) await catalog.dropUnlessNeeded(namespace, spec.name);
    }
  }
}
