import { isIP } from 'node:net';
import type { Context } from 'koa';
import { SyncError } from './errors.ts';

/**
 * Whether a server that listens on this address can only be reached from this machine.
 * @param host - an address or a name, IPv6 without brackets.
 */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}

/**
 * Refuses requests that a page of another site makes a browser send: a browser says where the page came from. Such a page can
 * reach servers that its author cannot: those on this machine, and those on its networks.
 * @throws SyncError CrossOriginRequest.
 */
export function refuseOtherOrigins(ctx: Context): void {
  const origin = ctx.get('Origin');
  if (origin !== '' && URL.parse(origin)?.host !== ctx.host) {
    throw new SyncError('CrossOriginRequest', 'pages of other origins may not call this API');
  }
}

/**
 * Refuses a request for any name other than those of this machine: without a token, everybody who reaches the port may do
 * everything. A page of another site can reach it by making its own name resolve to an address of this machine or of its
 * networks; then the request contains that name. It cannot do so with an address.
 * @throws SyncError UnknownHost.
 */
export function refuseOtherNames(ctx: Context): void {
  const host = ctx.get('Host');
  const name = URL.parse(`http://${host}`)?.hostname.replace(/^\[(.*)\]$/, '$1') ?? '';
  if (isIP(name) === 0 && !isLoopback(name)) {
    throw new SyncError(
      'UnknownHost',
      'without a token this server answers only to IP addresses and localhost',
    );
  }
}
