import type { UUID } from 'mongodb';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import type { CollectionPage } from '../../sync-api/json.ts';

type CollectionRow = CollectionPage['collections'][number];

interface Entry {
  readonly namespace: string;
  readonly estimatedTotalBytes: number;
  estimatedCopiedBytes: number;
  /** Parts that are not copied yet. */
  pending: number;
}

/** The collections that this process copies, for display. Kept as long as the process lives. */
export class CopyTally {
  readonly #entries = new Map<string, Entry>();

  /** Starts over with what there is to copy: one part for each partition. */
  begin(
    parts: Iterable<{
      readonly collection: {
        readonly uuid: UUID;
        readonly namespace: Namespace;
        readonly sizeBytes: number;
      };
    }>,
  ): void {
    this.#entries.clear();
    for (const { collection } of parts) {
      const key = collection.uuid.toHexString(false);
      const entry = this.#entries.get(key);
      if (entry) entry.pending++;
      else {
        this.#entries.set(key, {
          namespace: namespaceText(collection.namespace),
          estimatedTotalBytes: collection.sizeBytes,
          estimatedCopiedBytes: 0,
          pending: 1,
        });
      }
    }
  }

  /** Documents of a collection have been written. */
  addCopied(uuid: UUID, bytes: number): void {
    const entry = this.#entries.get(uuid.toHexString(false));
    if (entry) entry.estimatedCopiedBytes += bytes;
  }

  /** A part of a collection is on the destination. */
  endPart(uuid: UUID): void {
    const entry = this.#entries.get(uuid.toHexString(false));
    if (entry) entry.pending--;
  }

  /** The ones under way first, then those that wait, then those that are done; the largest first. */
  page(limit: number): CollectionPage {
    const collections = Array.from(
      this.#entries.values(),
      ({ pending, namespace, estimatedTotalBytes, estimatedCopiedBytes }): CollectionRow => ({
        ...{ namespace, estimatedTotalBytes, estimatedCopiedBytes },
        isCopied: pending <= 0,
      }),
    );
    const rank = (one: CollectionRow): number =>
      one.isCopied ? 2 : one.estimatedCopiedBytes > 0 ? 0 : 1;
    collections.sort(
      (left, right) =>
        rank(left) - rank(right) ||
        right.estimatedTotalBytes - left.estimatedTotalBytes ||
        (left.namespace < right.namespace ? -1 : 1),
    );
    return {
      collections: collections.slice(0, limit),
      total: collections.length,
      copied: collections.filter(({ isCopied }) => isCopied).length,
    };
  }
}
