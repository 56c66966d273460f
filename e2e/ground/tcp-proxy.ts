import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isNewPort } from './given-ports.ts';

/** One connection through the proxy. */
interface Pair {
  readonly client: Socket;
  readonly target: Socket;
  /** Undefined until the client has sent what it is known by. */
  isAffected: boolean | undefined;
  /** What befell the connections that there were, before this one could be known. */
  pending: 'cut' | 'strand' | undefined;
  /** Silent until {@link TcpProxy.release}. */
  isStranded: boolean;
  /** How much of what the target has said is to arrive yet. */
  late: number;
  /** What becomes of what the target says next. */
  onAnswer: OnAnswer | undefined;
}

/** What to say to the client in the place of an answer; undefined to break the connection. */
type OnAnswer = (answer: Buffer) => Buffer | undefined;

/** What becomes of something that a client sends as one chunk. */
export type Encounter =
  /** The target never sees it. The client gets this answer, or a broken connection. */
  | { readonly kind: 'kept'; readonly answer?: Buffer }
  /** The target sees it, and what becomes of the first chunk that it says after that is decided when that comes. */
  | { readonly kind: 'delivered'; readonly onAnswer: OnAnswer };

/** Stands between clients and a loopback port, and can be made to fail as networks do. */
export class TcpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  readonly #affects: ((firstBytes: Buffer) => boolean) | undefined;
  #state: 'open' | 'frozen' | 'refusing' = 'open';
  #strandsAt: (bytes: Buffer) => boolean = () => false;
  #encounterOf: (bytes: Buffer) => Encounter | undefined = () => undefined;
  #accepted = 0;
  #delayMs = 0;

  private constructor(targetPort: number, affects?: (firstBytes: Buffer) => boolean) {
    this.#affects = affects;
    this.#server = createServer((client) => {
      this.#accepted += 1;
      this.#join(client, targetPort);
    });
  }

  /**
   * @param affects - which connections failures are for, by the first bytes that the client sends. Default: all. The
   * others always work. A failure of the connections there are is also for one that has not sent anything yet, when it does.
   */
  static async start(
    targetPort: number,
    affects?: (firstBytes: Buffer) => boolean,
  ): Promise<TcpProxy> {
    for (;;) {
      const proxy = new TcpProxy(targetPort, affects);
      proxy.#server.listen(0, '127.0.0.1');
      await once(proxy.#server, 'listening');
      if (isNewPort(proxy.port)) return proxy;
      await once(proxy.#server.close(), 'close');
    }
  }

  /** The same for a port of an address that the caller knows to be free, in front of a port of 127.0.0.1. */
  static async startAt(host: string, port: number, targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    proxy.#server.listen(port, host);
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

  /** How many connections are stranded. */
  get stranded(): number {
    return [...this.#pairs].filter(({ isStranded }) => isStranded).length;
  }

  /** How many chunks of what the targets have said are held back by {@link slow}. */
  get late(): number {
    return [...this.#pairs].reduce((sum, { late }) => sum + late, 0);
  }

  /** Breaks all connections; new ones work. */
  cut(): void {
    for (const pair of this.#unknown()) pair.pending = 'cut';
    for (const pair of this.#affected()) cut(pair);
  }

  /** Breaks all connections, and each new one at once, until {@link heal}. */
  refuse(): void {
    this.#state = 'refusing';
    this.cut();
  }

  /**
   * Lets nothing through any more, and says nothing, until {@link heal}: connections stay open, new ones are taken. What
   * is sent in the meantime arrives once the connection works again, as with TCP.
   */
  freeze(): void {
    this.#state = 'frozen';
    for (const pair of this.#affected()) pause(pair);
  }

  /** Lets nothing through on the connections there are, until {@link release}, and says nothing; new ones work. */
  strand(): void {
    for (const pair of this.#unknown()) pair.pending ??= 'strand';
    for (const pair of this.#affected()) strand(pair);
  }

  /** {@link strand} for each connection on which the client sends something of a kind, from then on, until {@link heal} or {@link release}. */
  strandAt(isOfKind: (bytes: Buffer) => boolean): void {
    this.#strandsAt = isOfKind;
  }

  /** Decides what becomes of each chunk that a client sends from then on: undefined lets it through. */
  judge(encounterOf: (bytes: Buffer) => Encounter | undefined): void {
    this.#encounterOf = encounterOf;
  }

  /** Strands nothing any more, and lets through what was sent on stranded connections, and their ends. */
  release(): void {
    this.#strandsAt = () => false;
    for (const pair of this.#unknown()) if (pair.pending === 'strand') pair.pending = undefined;
    for (const pair of this.#affected()) {
      pair.isStranded = false;
      resume(pair);
    }
  }

  /** Lets whatever the target says on affected connections arrive late, until it is called with 0. */
  slow(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** Works again. What was frozen is let through. */
  heal(): void {
    this.#state = 'open';
    this.#strandsAt = () => false;
    for (const pair of this.#affected()) if (!pair.isStranded) resume(pair);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const { client, target } of this.#pairs) {
      client.destroy();
      target.destroy();
    }
    await closed;
  }

  #affected(): Pair[] {
    return [...this.#pairs].filter(({ isAffected = this.#affects === undefined }) => isAffected);
  }

  /** Those that may be affected, or not. */
  #unknown(): Pair[] {
    if (this.#affects === undefined) return [];
    return [...this.#pairs].filter(({ isAffected }) => isAffected === undefined);
  }

  #join(client: Socket, targetPort: number): void {
    const target = connect(targetPort, '127.0.0.1');
    const pair: Pair = {
      client,
      target,
      isAffected: undefined,
      pending: undefined,
      isStranded: false,
      late: 0,
      onAnswer: undefined,
    };
    this.#pairs.add(pair);
    const end = (): void => {
      this.#pairs.delete(pair);
      client.destroy();
      target.destroy();
    };
    client.on('data', (chunk) => {
      if (pair.isAffected === undefined) this.#admit(pair, chunk);
      else if (pair.isAffected && this.#strandsAt(chunk)) {
        strand(pair);
        client.unshift(chunk);
      } else deliver(pair, chunk, pair.isAffected ? this.#encounterOf(chunk) : undefined);
    });
    let last: Promise<unknown> = Promise.resolve();
    target.on('data', (said) => {
      const chunk = answerFor(pair, said);
      if (chunk === undefined) {
        cut(pair);
        return;
      }
      const { isAffected = this.#affects === undefined } = pair;
      const delayMs = isAffected ? this.#delayMs : 0;
      if (delayMs === 0 && pair.late === 0) {
        client.write(chunk);
        return;
      }
      // In the order of sending, even if the delay has changed in the meantime.
      pair.late += 1;
      last = Promise.all([last, sleep(delayMs)]).then(() => {
        pair.late -= 1;
        client.write(chunk);
      });
    });
    for (const socket of [client, target]) {
      socket.on('error', end);
      socket.on('close', end);
    }
  }

  #admit(pair: Pair, firstBytes: Buffer): void {
    const { client, target, pending } = pair;
    pair.isAffected = this.#affects?.(firstBytes) ?? true;
    if (!pair.isAffected || (this.#state === 'open' && pending === undefined)) {
      target.write(firstBytes);
    } else if (this.#state === 'refusing' || pending === 'cut') {
      cut(pair);
    } else {
      if (pending === 'strand') strand(pair);
      else pause(pair);
      client.unshift(firstBytes);
    }
  }
}

function deliver(pair: Pair, chunk: Buffer, encounter: Encounter | undefined): void {
  if (encounter?.kind !== 'kept') {
    pair.onAnswer = encounter?.onAnswer;
    pair.target.write(chunk);
  } else if (encounter.answer) pair.client.write(encounter.answer);
  else cut(pair);
}

/** What the client is to get of what the target has said; undefined if the connection is to break. */
function answerFor(pair: Pair, said: Buffer): Buffer | undefined {
  const { onAnswer } = pair;
  pair.onAnswer = undefined;
  return onAnswer ? onAnswer(said) : said;
}

function cut({ client, target }: Pair): void {
  client.resetAndDestroy();
  target.resetAndDestroy();
}

function strand(pair: Pair): void {
  pair.isStranded = true;
  pause(pair);
}

function pause({ client, target }: Pair): void {
  client.pause();
  target.pause();
}

function resume({ client, target }: Pair): void {
  client.resume();
  target.resume();
}
