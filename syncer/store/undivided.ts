import { isTrue } from '../../mongo/replicated-form.ts';
import type { TrackedCollection } from './records.ts';

/**
 * True for a collection whose changes are all applied one after the other: which ids the server takes for the same cannot be
 * told from them (under a collation), or the order of all documents counts (capped collections).
 */
export function isUndivided({ options }: Pick<TrackedCollection, 'options'>): boolean {
  return options['collation'] !== undefined || isTrue(options['capped']);
}
