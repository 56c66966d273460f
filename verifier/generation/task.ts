import type { IdKey } from '../compare/id-key.ts';
import type { IdRange } from '../../mongo/id-range.ts';
import type { NamespacePair } from './namespace-pairs.ts';

/** One piece of comparing. Pure data. */
export type Task =
  /** Existence, kind, options and indexes of a namespace. */
  | { readonly kind: 'metadata'; readonly pair: NamespacePair }
  /** Every document of a collection; a large one is split in ranges. */
  | { readonly kind: 'collection'; readonly pair: NamespacePair }
  | { readonly kind: 'range'; readonly pair: NamespacePair; readonly range: IdRange }
  | { readonly kind: 'ids'; readonly pair: NamespacePair; readonly ids: readonly IdKey[] };
