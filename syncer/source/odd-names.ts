import { listNamespaces } from '../../mongo/catalog.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { oddNameError } from '../../mongo/specification.ts';
import type { SourceContext } from './source-context.ts';
import type { CatalogEvent } from './change-event.ts';
import { latestKnownTime } from './read-concern.ts';

/**
 * Whether an event is to be passed over that gives a name that is not UTF-8, or is about a view of such a name: no view of
 * it is known, though one may be called like it here.
 * @throws SyncError NameNotSupported where the name is selected, and what was created so is still there on the source.
 */
export async function isOfOddName(context: SourceContext, event: CatalogEvent): Promise<boolean> {
  const { operation, namespace, to, uuid, givesOddName } = event;
  if (!givesOddName) return false;
  switch (operation) {
    case 'create':
      if (!(await context.filter.selects(namespace))) return true;
      if (await isThere(context, namespace)) throw oddNameError(namespaceText(namespace));
      return true;
    case 'rename':
      if (to && (await context.filter.selects(to))) throw oddNameError(namespaceText(to));
      return false;
    default:
      return uuid === undefined;
  }
}

async function isThere(context: SourceContext, { db, coll }: Namespace): Promise<boolean> {
  const { source, signal } = context;
  const infos = await listNamespaces(source, db, signal, {}, latestKnownTime(context));
  return infos.some(({ kind, namespace }) => kind === 'oddlyNamed' && namespace.coll === coll);
}
