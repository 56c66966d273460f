import type { ConditionView } from '../api/sync-view.ts';
import { helpPages } from './help-pages.ts';

/** The conditions about which somebody may have to do something, with the page for reasons that have none of their own. */
const needy = new Map<string, string | undefined>([
  ['Ready False', undefined],
  ['CanStart False', undefined],
  ['Stalled True', 'runbooks/sync-stalled'],
  ['SecretProblem True', 'runbooks/secret-problem'],
]);

/**
 * The address of the page that says what to do about the reason of a condition; undefined if there is nothing to do, or no such page.
 * The reason may come from anywhere: it only selects the page.
 * @param docsUrl - has `{page}` for the page; null if the documentation is nowhere.
 */
export function helpAddress(
  { type, status, reason }: Pick<ConditionView, 'type' | 'status' | 'reason'>,
  docsUrl: string | null,
): string | undefined {
  const key = `${type} ${status}`;
  const target = needy.has(key) ? (helpPages.get(reason) ?? needy.get(key)) : undefined;
  if (docsUrl === null || target === undefined) return undefined;
  const [page = '', anchor] = target.split('#');
  const address = docsUrl.replaceAll('{page}', page);
  return anchor === undefined ? address : `${address}#${anchor}`;
}
