import { SyncError } from '../../service/errors.ts';
import { readTextFile } from '../../service/text-file.ts';
import type { ServerTrust } from '../../service/http-request.ts';
import type { ApiAddress } from '../api/api-client.ts';
import type { ApiOptions } from './options.ts';

/**
 * The addresses in `--url`: one, or several separated by commas.
 * @throws SyncError InvalidOption for a value that is not an HTTP URL, and for a file that cannot be read.
 */
export function addressesOf({ url: urls, apiToken, ...https }: ApiOptions): ApiAddress[] {
  const trust = trustOf(https);
  return urls.split(',').map((text) => {
    const url = URL.parse(text.trim());
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
      throw new SyncError(
        'InvalidOption',
        `--url: expected a URL, such as http://localhost:27182, not ${JSON.stringify(text.trim())}`,
      );
    }
    if (trust && url.protocol === 'http:') {
      throw new SyncError(
        'InvalidOption',
        `--ca-file and --tls-server-name apply to https, not to ${url.origin}`,
      );
    }
    return { url: `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, '')}`, apiToken, trust };
  });
}

function trustOf({
  caFile,
  tlsServerName: serverName,
}: Pick<ApiOptions, 'caFile' | 'tlsServerName'>): ServerTrust | undefined {
  if (caFile === undefined && serverName === undefined) return undefined;
  return {
    authority:
      caFile === undefined ? undefined : readTextFile({ path: caFile, option: '--ca-file' }),
    serverName,
  };
}
