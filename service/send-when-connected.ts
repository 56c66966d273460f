import type { ClientRequest } from 'node:http';
import { TLSSocket } from 'node:tls';
import { asError } from './errors.ts';

/**
 * Sends a request that nothing was written to yet as soon as its connection is there, so that the check and the sending are
 * one moment: making a connection takes time, in which a process may be frozen.
 * @param assertMaySend - throws when the request is not to be sent any more: that is its error then.
 */
export function sendWhenConnected(
  outgoing: ClientRequest,
  payload: Buffer | undefined,
  assertMaySend: () => void = () => undefined,
): void {
  const send = (): void => {
    try {
      assertMaySend();
    } catch (error) {
      outgoing.destroy(asError(error));
      return;
    }
    outgoing.end(payload);
  };
  outgoing.once('socket', (socket) => {
    if (outgoing.reusedSocket) send();
    else socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', send);
  });
}
