import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Both ends of a connection on this machine. */
export interface SocketPair extends AsyncDisposable {
  readonly socket: Socket;
  readonly peer: Socket;
}

/** Opens a connection. When it is disposed of, both ends are gone. */
export async function openSocketPair(): Promise<SocketPair> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  const [peer] = await accepted;
  return {
    socket,
    peer,
    [Symbol.asyncDispose]: async () => {
      socket.destroy();
      peer.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
