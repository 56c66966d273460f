import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP server of a test, on a free port of this machine. */
export interface HttpServer extends AsyncDisposable {
  readonly server: Server;
  readonly port: number;
  readonly url: string;
}

/** Starts a server that answers so. When it is disposed of, its connections are gone, unanswered requests too. */
export async function startHttpServer(answer: RequestListener): Promise<HttpServer> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    server,
    port,
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
