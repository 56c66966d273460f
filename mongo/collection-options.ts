import type { Document } from 'mongodb';
import { SyncError } from '../service/errors.ts';
import { namespaceText, type Namespace } from './namespace.ts';
import { RawValue } from './raw-value.ts';
import { fateOfOption } from './server-features.ts';

/** The options of a collection without those that its server has decided, which need not be the same elsewhere. */
export function withoutServersOwn(options: Document): Document {
  return Object.fromEntries(
    Object.entries(options).filter(([option]) => fateOfOption(option) !== 'ofServer'),
  );
}

/** Why a collection with these options cannot be synced; undefined if it can. */
export function unsupportedReason(options: Document): string | undefined {
  const refused = Object.keys(options).filter((option) => fateOfOption(option) === 'refused');
  if (refused.length > 0) return `has options that are not supported: ${refused.join(', ')}`;
  return isPreviewEncrypted(options['encryptedFields'])
    ? 'is encrypted as in the public preview of Queryable Encryption (6.0), which newer releases cannot read'
    : undefined;
}

/** CollectionNotSupported if a collection with these options cannot be synced. */
export function unsupportedError(namespace: Namespace, options: Document): SyncError | undefined {
  const reason = unsupportedReason(options);
  if (reason === undefined) return undefined;
  return new SyncError('CollectionNotSupported', `${namespaceText(namespace)} ${reason}`);
}

/** @throws SyncError CollectionNotSupported if a collection with these options cannot be synced. */
export function requireSupported(namespace: Namespace, options: Document): void {
  const error = unsupportedError(namespace, options);
  if (error) throw error;
}

/**
 * True for the `encryptedFields` of the preview: these name a third collection with metadata, and data under them is not
 * compatible with later releases (manual: release-notes/7.0-compatibility; seen on 6.0.27, which adds the name, and on 7.0.28,
 * which does not, but accepts it).
 */
function isPreviewEncrypted(encryptedFields: unknown): boolean {
  return (
    encryptedFields instanceof RawValue &&
    encryptedFields.elements().some(({ name }) => name === 'eccCollection')
  );
}
