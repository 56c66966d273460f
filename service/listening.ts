import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { boundConnections } from './connection-bound.ts';
import { SyncError } from './errors.ts';
import type { OptionTable } from './options.ts';

/** Where a program's HTTP server listens: for others than this machine only when it is told to. */
export const hostOption = {
  host: { type: 'string', default: '127.0.0.1', description: 'address to listen on' },
} as const satisfies OptionTable;

/**
 * Of every HTTP server: a slow client may not hold a connection for ever. One between two questions is kept for longer than
 * pollers wait: a server closes it on time even where the next question has come and is not read yet, as on a busy machine
 * (Node's own limit is 5 s).
 */
export const requestLimits = {
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  keepAliveTimeout: 75_000,
  /** How often the first two are looked at: Node's own 30 s would let a head take 40. */
  connectionsCheckingInterval: 2_000,
} as const;

/**
 * Lets a server listen, for a bounded number of connections.
 * @param address - port 0 for any free one.
 * @returns the port.
 * @throws SyncError InvalidOption where it cannot.
 */
export async function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<number> {
  boundConnections(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ message }) => {
      reject(new SyncError('InvalidOption', `cannot listen on ${host}:${port}: ${message}`));
    });
    server.listen(port, host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

/**
 * Takes no more connections, and cuts those that there are when the work behind them has ended.
 * @param endWork - ends what the server does beside its answers, or what its answers wait for.
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
