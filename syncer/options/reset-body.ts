import { SyncError } from '../../service/errors.ts';

/**
 * What the end of a sync leaves on the destination. Keep: all as it is. Unblock: users may write again where the sync blocked
 * them. Clean: that, and nothing that the sync has made.
 */
export const resetDestinations = ['Keep', 'Unblock', 'Clean'] as const;
export type ResetDestination = (typeof resetDestinations)[number];

/**
 * Reads the body of POST /reset: what is to become of the destination, by default Keep.
 * @throws SyncError InvalidBody.
 */
export function parseResetBody(body: unknown): ResetDestination {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new SyncError('InvalidBody', 'the body is a JSON object');
  const unknown = Object.keys(body).find((name) => name !== 'destination');
  if (unknown !== undefined)
    throw new SyncError('InvalidBody', `${unknown} must NOT have additional properties`);
  const { destination = 'Keep' } = body as { readonly destination?: unknown };
  const known = resetDestinations.find((name) => name === destination);
  if (known === undefined)
    throw new SyncError(
      'InvalidBody',
      `destination is one of ${resetDestinations.join(', ')}, not ${JSON.stringify(destination)}`,
    );
  return known;
}
