import type { Document } from 'mongodb';

/** What a command needs: an action on the cluster, or on a collection (with an empty name, on the database). */
export interface NeededPrivilege {
  readonly action: string;
  readonly on: 'cluster' | { readonly db: string; readonly collection: string };
}

/** What the user of a connection may do, as `connectionStatus` with `showPrivileges` shows it. */
export class Privileges {
  readonly #rows: readonly { readonly resource: Document; readonly actions: readonly string[] }[];

  constructor(connectionStatus: Document) {
    const info = connectionStatus['authInfo'] as Document;
    this.#rows = (info['authenticatedUserPrivileges'] ?? []) as {
      resource: Document;
      actions: string[];
    }[];
  }

  allow({ action, on }: NeededPrivilege): boolean {
    return this.#rows.some(
      ({ resource, actions }) => actions.includes(action) && covers(resource, on),
    );
  }
}

function covers(resource: Document, on: NeededPrivilege['on']): boolean {
  if (resource['anyResource'] === true) return true;
  if (on === 'cluster') return resource['cluster'] === true;
  if (resource['cluster'] === true) return false;
  const { db, collection } = resource as { db: string; collection: string };
  // An empty name stands for all but those of the system.
  const isDatabase = db === on.db || (db === '' && on.db !== 'config' && on.db !== 'local');
  const isCollection = collection === '' && !on.collection.startsWith('system.');
  return isDatabase && (isCollection || collection === on.collection);
}
