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
  const page = needy.has(key) ? (helpPages.get(reason) ?? needy.get(key)) : undefined;
  return docsAddress(page, docsUrl);
}

/** What pages are about that say nothing of a sync, and so help with a verification, too. */
const ofBoth =
  /^(tls|guide#users-and-roles|runbooks\/secret-problem|troubleshooting#(a-bug|a-request-is-wrong))(#|$)/;

/**
 * The address of the page that says what to do about what keeps a verification from its verdict; undefined if the documentation is nowhere.
 * @param reason - of its condition, or the name of its error: it only selects the page. Null if there is none.
 */
export function verificationHelp(
  reason: string | null,
  docsUrl: string | null,
): string | undefined {
  const page = helpPages.get(reason ?? '') ?? '';
  return docsAddress(ofBoth.test(page) ? page : 'runbooks/verification-stalled', docsUrl);
}

/** The address of the page that says what to do about differences; undefined if the documentation is nowhere. */
export function differencesHelp(docsUrl: string | null): string | undefined {
  return docsAddress('runbooks/verification-different', docsUrl);
}

/**
 * The address of a page of the documentation.
 * @param page - its path in docs without the ending, and perhaps an anchor; undefined for none.
 * @param docsUrl - as in {@link helpAddress}.
 */
export function docsAddress(page: string | undefined, docsUrl: string | null): string | undefined {
  if (docsUrl === null || page === undefined) return undefined;
  const [path = '', anchor] = page.split('#');
  const address = docsUrl.replaceAll('{page}', path);
  return anchor === undefined ? address : `${address}#${anchor}`;
}
