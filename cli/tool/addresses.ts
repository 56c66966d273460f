import { SyncError } from '../../service/errors.ts';
import type { ApiAddress } from '../api/api-client.ts';

/**
 * The addresses in `--url`: one, or several separated by commas.
 * @throws SyncError InvalidOption for what is no URL of HTTP.
 */
export function addressesOf(urls: string, apiToken: string | undefined): ApiAddress[] {
  return urls.split(',').map((text) => {
    const url = URL.parse(text.trim());
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
      throw new SyncError(
        'InvalidOption',
        `--url: a URL is expected, such as http://localhost:27182, not ${JSON.stringify(text.trim())}`,
      );
    }
    return { url: `${url.origin}${url.pathname.replace(/\/+$/, '')}`, apiToken };
  });
}
