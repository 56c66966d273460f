import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { apiTokenHashOf, apiTokenOptions } from './api-token.ts';
import { SyncError } from './errors.ts';
import type { Options, OptionTable } from './options.ts';
import {
  certificateFiles,
  certificateOptions,
  type CertificateFiles,
} from './served-certificate.ts';

/** All addresses of a machine: those of IPv6 and of IPv4, as far as it has them. */
export const allAddresses = '::';

/** Where a program's HTTP server listens: only for this machine, unless told otherwise. */
export const hostOption = {
  host: {
    type: 'string',
    default: '127.0.0.1',
    description: `address to listen on; ${allAddresses} for all addresses, of IPv6 and IPv4`,
  },
} as const satisfies OptionTable;

/**
 * The options of a program with an HTTP API: where it listens, who may use it, and how it proves its identity.
 * @param port - the default.
 */
export function apiOptions(port: number) {
  return {
    port: {
      type: 'integer',
      default: port,
      range: [0, 65_535],
      description: 'HTTP port; 0 for any free port',
    },
    ...hostOption,
    ...apiTokenOptions,
    ...certificateOptions,
  } as const satisfies OptionTable;
}

/** What the options of a program say about the server of its API. */
export interface ApiServer {
  readonly host: string;
  readonly port: number;
  readonly apiTokenHash: string | undefined;
  readonly certificate: CertificateFiles | undefined;
}

/** @throws SyncError InvalidOption if options contradict each other. */
export function apiServerOf(options: Options<ReturnType<typeof apiOptions>>): ApiServer {
  return {
    host: options.host,
    port: options.port,
    apiTokenHash: apiTokenHashOf(options),
    certificate: certificateFiles(options),
  };
}

/**
 * For every HTTP server: a slow client must not hold a connection for ever. An idle connection is kept for longer than pollers
 * wait: a server closes it on time even if the next request has arrived and is not read yet, as on a busy machine (Node's own
 * limit is 5 s).
 */
export const requestLimits = {
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  keepAliveTimeout: 75_000,
  /** How often the first two are checked: with Node's own 30 s a head could take 40. */
  connectionsCheckingInterval: 2_000,
} as const;

/**
 * Lets a server listen, for a bounded number of connections.
 * @param address - port 0 for any free one.
 * @returns the port.
 * @throws SyncError InvalidOption if it cannot listen.
 */
export async function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<number> {
  boundConnections(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ message }) => {
      const place = `${hostInUrl(host)}:${port}`;
      reject(new SyncError('InvalidOption', `cannot listen on ${place}: ${message}`));
    });
    server.listen(port, nodeHost(host), resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** A name or an address as it is written before a port: an address of IPv6 in brackets. */
export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** The address that Node is given: without one it listens on all, and does so on a machine without IPv6 as well. */
export function nodeHost(host: string): string | undefined {
  return host === allAddresses ? undefined : host;
}

/**
 * Accepts no more connections, and closes the existing ones once the work behind them has ended.
 * @param endWork - ends the work that the server does apart from its answers, or that its answers wait for.
 */
export async function closeServer(server: Server, endWork: () => Promise<void>): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
  });
  await endWork();
  server.closeAllConnections();
  await closed;
}

/**
 * The most connections that a server holds. An operator, the kubelet, Prometheus and some people have a dozen, and a dashboard
 * 64 open pages with one or two each. A client without a token can make a server keep a head of 16 KiB and the buffers of a
 * socket for each connection: some 20 MB for all of them.
 */
export const maxConnections = 256;

/**
 * Limits the connections of a server. A connection beyond the limit is accepted, too, and another one is closed instead: the oldest of
 * the address that has the most. A client that holds all of them therefore loses its own connections, and locks nobody out.
 * Node's `server.maxConnections` would refuse the new one, which may be a probe of the kubelet.
 */
function boundConnections(server: Server): void {
  /** The address of each connection, the oldest first. */
  const open = new Map<Socket, string>();
  server.on('connection', (socket: Socket) => {
    open.set(socket, socket.remoteAddress ?? '');
    socket.once('close', () => open.delete(socket));
    if (open.size <= maxConnections) return;
    const oldest = oldestOfMost(open);
    if (!oldest) return;
    // Its close event comes later, and other connections may arrive before that.
    open.delete(oldest);
    oldest.destroy();
  });
}

function oldestOfMost(open: ReadonlyMap<Socket, string>): Socket | undefined {
  const byAddress = new Map<string, { readonly oldest: Socket; count: number }>();
  for (const [socket, address] of open) {
    const known = byAddress.get(address);
    if (known) known.count += 1;
    else byAddress.set(address, { oldest: socket, count: 1 });
  }
  let most: { readonly oldest: Socket; readonly count: number } | undefined;
  for (const each of byAddress.values()) if (!most || each.count > most.count) most = each;
  return most?.oldest;
}
