import type { Timestamp } from 'mongodb';
import { listNamespaces, listUserDatabases } from '../../mongo/catalog.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { oddNameError } from '../../mongo/specification.ts';
import type { SyncContext } from '../context/sync-context.ts';

/**
 * Makes sure that the source has nothing whose name is not UTF-8: no change event tells of a collection that is created
 * under such a name, nor of its documents (6.0.5).
 * @param commitTime - what is read is not older.
 * @throws SyncError NameNotSupported.
 */
export async function refuseOddNames(context: SyncContext, commitTime: Timestamp): Promise<void> {
  const { source, filter, signal } = context;
  for (const db of await listUserDatabases(source, signal, commitTime))
    for (const { kind, namespace } of await listNamespaces(source, db, signal, {}, commitTime))
      if (kind === 'oddlyNamed' && (await filter.selects(namespace)))
        throw oddNameError(namespaceText(namespace));
}
