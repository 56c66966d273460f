import type { IdRange } from '../../mongo/id-range.ts';
import { cannotHash, hasNoHash } from '../../mongo/fingerprints.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { errorNameOf } from '../../mongo/server-errors.ts';
import type { Logger } from '../../service/logger.ts';
import { compareRange, type CompareContext, type Comparison } from './compare-documents.ts';
import { compareHashes } from './compare-hashes.ts';
import type { Excuse } from './expiry.ts';

/** How documents are compared: byte for byte, or by hashes where the servers can make them. */
export type ComparisonMode = 'bytes' | 'hashes';

/** Compares ranges of documents, in one of the ways. */
export class RangeComparer {
  readonly #logger: Logger;
  #mode: ComparisonMode;

  constructor(mode: ComparisonMode, logger: Logger) {
    this.#mode = mode;
    this.#logger = logger;
  }

  /** Compares a range: see {@link compareHashes} and {@link compareRange}. */
  async compare(
    context: CompareContext,
    namespace: Namespace,
    range: IdRange,
    excuse?: Excuse,
  ): Promise<Comparison> {
    const byHashes =
      this.#mode === 'hashes'
        ? await this.#compareHashesIfPossible(context, namespace, range, excuse)
        : undefined;
    return byHashes ?? (await compareRange(context, namespace, range, excuse));
  }

  async #compareHashesIfPossible(
    context: CompareContext,
    namespace: Namespace,
    range: IdRange,
    excuse: Excuse | undefined,
  ): Promise<Comparison | undefined> {
    try {
      return await compareHashes(context, namespace, range, excuse);
    } catch (error) {
      if (!cannotHash(error)) throw error;
      // What the server says of a document that is too large for it may quote the document.
      const told = { namespace: namespaceText(namespace), error: errorNameOf(error) };
      if (!hasNoHash(error)) {
        this.#logger.debug(told, 'comparing by bytes');
      } else if (this.#mode === 'hashes') {
        this.#mode = 'bytes';
        this.#logger.warn(
          told,
          'a server cannot hash documents: comparing all by bytes from now on',
        );
      }
      return undefined;
    }
  }
}
