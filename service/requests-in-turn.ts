import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';

/** How many requests may wait on a connection for the answer to the one before. No known client sends any. */
const maxWaiting = 16;

/**
 * Gives a listener the requests of each connection one after the other: the next one when the answer to the one before is sent.
 * Node gives it all that have arrived, so answers pile up in memory for a client that sends without reading. A connection on
 * which more than 16 requests wait is closed.
 */
export function requestsInTurn(listener: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, (() => void)[]>();
  return (request, response) => {
    const { socket } = request;
    const begin = (): void => {
      response.once('close', () => {
        const next = waiting.get(socket)?.shift();
        if (next && !socket.destroyed) next();
        else waiting.delete(socket);
      });
      listener(request, response);
    };
    const others = waiting.get(socket);
    if (!others) {
      waiting.set(socket, []);
      begin();
    } else if (others.length < maxWaiting) others.push(begin);
    else socket.destroy();
  };
}
