import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Stands between a client and a loopback port, and can be made to fail as networks do. */
export class TcpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #state: 'open' | 'frozen' | 'refusing' = 'open';
  #accepted = 0;

  private constructor(targetPort: number) {
    this.#server = createServer((client) => {
      this.#accepted += 1;
      this.#join(client, targetPort);
    });
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** How many connections are open through it. */
  get connections(): number {
    return this.#pairs.size;
  }

  /** How many connections there have been. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Breaks all connections; new ones work. */
  cut(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy();
  }

  /** Breaks all connections, and each new one at once, until {@link heal}. */
  refuse(): void {
    this.#state = 'refusing';
    this.cut();
  }

  /** Lets nothing through any more, and says nothing, until {@link heal}: connections stay open, new ones are taken. */
  freeze(): void {
    this.#state = 'frozen';
    for (const pair of this.#pairs) for (const socket of pair) socket.pause();
  }

  /** Works again. What was held back is let through. */
  heal(): void {
    this.#state = 'open';
    for (const pair of this.#pairs) for (const socket of pair) socket.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
    await closed;
  }

  #join(client: Socket, targetPort: number): void {
    if (this.#state === 'refusing') {
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const target = connect(targetPort, '127.0.0.1');
    const pair = [client, target] as const;
    this.#pairs.add(pair);
    const end = (): void => {
      this.#pairs.delete(pair);
      client.destroy();
      target.destroy();
    };
    const sides = [
      [client, target],
      [target, client],
    ] as const;
    for (const [from, to] of sides) {
      from.on('data', (chunk) => to.write(chunk));
      from.on('error', end);
      from.on('close', end);
      if (this.#state === 'frozen') from.pause();
    }
  }
}
