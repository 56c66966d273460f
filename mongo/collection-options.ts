import type { Document } from 'mongodb';
import { SyncError } from '../service/errors.ts';
import { namespaceText, type Namespace } from './namespace.ts';
import { RawValue } from './raw-value.ts';
import { fateOfOption, hasOption } from './server-features.ts';

/** The options of a collection without those that its server has decided, which need not be the same elsewhere. */
export function withoutServersOwn(options: Document): Document {
  return Object.fromEntries(
    Object.entries(options).filter(([option]) => fateOfOption(option) !== 'ofServer'),
  );
}

/** Why a collection with these options cannot be synced to a server of this version; undefined if it can. */
export function unsupportedReason(
  options: Document,
  destinationVersion: string,
): string | undefined {
  const refused = Object.keys(options).filter((option) => fateOfOption(option) === 'refused');
  if (refused.length > 0) return `has options that are not supported: ${refused.join(', ')}`;
  const lost = Object.keys(options).filter((option) => !hasOption(destinationVersion, option));
  if (lost.length > 0)
    return `has options that MongoDB ${destinationVersion} no longer has: ${lost.join(', ')}`;
  return isPreviewEncrypted(options['encryptedFields'])
    ? 'is encrypted as in the public preview of Queryable Encryption (6.0), which newer releases cannot read'
    : undefined;
}

/** CollectionNotSupported if a collection with these options cannot be synced to a server of this version. */
export function unsupportedError(
  namespace: Namespace,
  options: Document,
  destinationVersion: string,
): SyncError | undefined {
  const reason = unsupportedReason(options, destinationVersion);
  if (reason === undefined) return undefined;
  return new SyncError('CollectionNotSupported', `${namespaceText(namespace)} ${reason}`);
}

/** @throws SyncError CollectionNotSupported if a collection with these options cannot be synced to a server of this version. */
export function requireSupported(
  namespace: Namespace,
  options: Document,
  destinationVersion: string,
): void {
  const error = unsupportedError(namespace, options, destinationVersion);
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
