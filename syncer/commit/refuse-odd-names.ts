import { listNamespaces, listUserDatabases } from '../../mongo/catalog.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { oddNameError } from '../../mongo/specification.ts';
import type { SyncContext } from '../sync-context.ts';

/**
 * Makes sure that the source has nothing whose name is not UTF-8: no change event tells of a collection that is created
 * under such a name, nor of its documents (6.0.5).
 * @throws SyncError NameNotSupported.
 */
export async function refuseOddNames({ source, filter, signal }: SyncContext): Promise<void> {
  for (const db of await listUserDatabases(source, signal))
    for (const { kind, namespace } of await listNamespaces(source, db, signal))
      if (kind === 'oddlyNamed' && (await filter.selects(namespace)))
        throw oddNameError(namespaceText(namespace));
}
