import { timingSafeEqual } from 'node:crypto';
import { SyncError } from './errors.ts';

/**
 * Refuses a request without the token; how long that takes tells nothing about the token.
 * @param authorization - the header `Authorization`; empty when absent.
 * @throws SyncError Unauthorized.
 */
export function requireToken(authorization: string, apiToken: string | undefined): void {
  if (apiToken === undefined) return;
  const given = Buffer.from(authorization);
  const wanted = Buffer.from(`Bearer ${apiToken}`);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
    throw new SyncError('Unauthorized', 'the API token is missing or wrong');
  }
}
