import { createHash, timingSafeEqual } from 'node:crypto';
import { SyncError } from './errors.ts';
import type { OptionTable } from './options.ts';

/** The options that set who may use a program's API. */
export const apiTokenOptions = {
  apiToken: {
    type: 'string',
    secret: true,
    valueName: 'token',
    description: 'bearer token that the API requires; none by default',
  },
  apiTokenHash: {
    type: 'string',
    valueName: 'hex',
    description:
      'instead of --apiToken: the SHA-256 of the token, for a token of 256 random bits, whose hash is not secret',
  },
} as const satisfies OptionTable;

const scheme = 'Bearer ';
const sha256 = /^[0-9a-f]{64}$/;

/** The SHA-256 of a token, in hexadecimal digits. */
export function hashOfToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/**
 * The hash of the token that an API requires; undefined if it requires none.
 * @throws SyncError InvalidOption if the hash is malformed, or a token is given beside it.
 */
export function apiTokenHashOf(options: {
  readonly apiToken: string | undefined;
  readonly apiTokenHash: string | undefined;
}): string | undefined {
  const { apiToken, apiTokenHash } = options;
  if (apiTokenHash === undefined) return apiToken === undefined ? undefined : hashOfToken(apiToken);
  if (apiToken !== undefined)
    throw new SyncError('InvalidOption', '--apiToken and --apiTokenHash are mutually exclusive');
  if (!sha256.test(apiTokenHash))
    throw new SyncError('InvalidOption', '--apiTokenHash: expected 64 hexadecimal digits');
  return apiTokenHash;
}

/**
 * Refuses a request without the token; the time that it takes reveals nothing about the token.
 * @param authorization - the header `Authorization`; empty when absent.
 * @param tokenHash - of {@link hashOfToken}; undefined if no token is required.
 * @throws SyncError Unauthorized.
 */
export function requireToken(authorization: string, tokenHash: string | undefined): void {
  if (tokenHash === undefined) return;
  const isBearer = authorization.startsWith(scheme);
  const given = Buffer.from(hashOfToken(authorization.slice(scheme.length)), 'hex');
  if (!isBearer || !timingSafeEqual(given, Buffer.from(tokenHash, 'hex'))) {
    throw new SyncError('Unauthorized', 'the API token is missing or wrong');
  }
}
