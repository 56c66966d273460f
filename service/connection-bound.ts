import type { Server, Socket } from 'node:net';

/**
 * The most connections that a server holds. An operator, the kubelet, Prometheus and some people have a dozen, and a dashboard
 * 64 open pages with one or two each. A client without a token can make a server keep a head of 16 KiB and the buffers of a
 * socket for each connection: some 20 MB for all of them.
 */
export const maxConnections = 256;

/**
 * Limits the connections of a server. One too many is accepted all the same, and another one is closed instead: the oldest of
 * the address that has the most. A client that holds all of them therefore loses its own connections, and locks nobody out.
 * Node's `server.maxConnections` would refuse the new one, which may be a probe of the kubelet.
 */
export function boundConnections(server: Server): void {
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
