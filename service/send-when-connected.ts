import type { ClientRequest } from 'node:http';
import { TLSSocket } from 'node:tls';
import { asError } from './errors.ts';

/**
 * Sends a request that nothing was written to yet as soon as it is connected, so that the check and the sending happen at one
 * moment: connecting takes time, in which a process may be frozen.
 * @param assertMaySend - throws if the request may no longer be sent: that is then its error.
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
