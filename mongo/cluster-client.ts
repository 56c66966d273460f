import { once } from 'node:events';
import { MongoClient, ReadPreference, UUID, type Db } from 'mongodb';
import { messageOf, SyncError } from '../service/errors.ts';
import { compressorsIn } from './connection-options.ts';
import { watchAttempt, type ConnectionAttempt } from './connection-attempt.ts';
import { checkConnection, tlsSettings, type Connection } from './connection.ts';
import { LostWrites, maxHeldMs } from './lost-writes.ts';
import { guardedConnection } from './guarded-connection.ts';
import { askServer, askPrimary } from './ask-server.ts';
import { isWorkedOn, connectionsOfOthers } from './own-operations.ts';
import { RouterAddresses, countOnRouters, type AskedCluster } from './router-addresses.ts';
import { connectionError } from './server-errors.ts';
import { WriteGuard } from './write-guard.ts';

/**
 * The connections to one cluster. `decoded` is an ordinary client; `raw` answers with embedded documents as bytes
 * (a client of its own: with `raw`, `$clusterTime` comes back as bytes too, which the driver's sessions would mix up).
 */
export interface ClusterClient extends AsyncDisposable {
  readonly decoded: MongoClient;
  readonly raw: MongoClient;
  readonly admin: Db;
  /** Of `decoded`. */
  readonly attempt: ConnectionAttempt;
  /** Of `decoded`, by which everything is written. */
  readonly lostWrites: LostWrites;
  readonly writeGuard: WriteGuard;
  readonly routers: RouterAddresses;
  readonly formerConnections: FormerConnections;
}

/** How to connect to a cluster. */
export interface ClusterClientOptions extends Connection {
  /** What the option is called that holds the connection string, for errors: `cluster0`. */
  readonly option: string;
  readonly appName: string;
  /** The connection string may name no files. Default: it may. */
  readonly refusesFiles?: boolean;
  readonly serverSelectionTimeoutMs?: number;
  /** How long a connection may say nothing, twice, while an answer is awaited that the server does not work on. Default: 10,000. */
  readonly silenceMs?: number;
}

/**
 * Creates the clients of a cluster: reads from the primary with majority read concern, writes acknowledged by a majority.
 * Nothing connects before the first command.
 * @throws SyncError InvalidOption if the connection string cannot be read, has an option that is not accepted, or turns off TLS
 * that certificates are given for.
 */
export function createClusterClient(options: ClusterClientOptions): ClusterClient {
  const { appName, refusesFiles = false } = options;
  checkConnection(options, { option: `--${options.option}`, refusesFiles });
  const mark = new UUID().toHexString();
  const compressors = compressorsIn(options.uri);
  let decoded: MongoClient;
  const lostWrites = new LostWrites();
  const writeGuard = new WriteGuard();
  const settings = {
    appName,
    // The driver offers all that are named, and loses each connection if the server chooses one that is not included.
    ...(compressors && { compressors }),
    ...tlsSettings(options),
    driverInfo: { name: 'clustersync', platform: mark },
    readPreference: ReadPreference.primary,
    readConcern: { level: 'majority' },
    writeConcern: { w: 'majority' },
    serverSelectionTimeoutMS: options.serverSelectionTimeoutMs ?? 10_000,
    // A member that falls silent is detected when it has not answered for both together: all its connections are then closed,
    // whatever they wait for.
    connectTimeoutMS: 5_000,
    // After this time, ask whether the server works on what was sent. This does not hold for the login on a new connection,
    // which is abandoned: the driver (7.8) limits only its first message by connectTimeoutMS, and opens no other while two wait
    // for their logins.
    socketTimeoutMS: options.silenceMs ?? 10_000,
    heartbeatFrequencyMS: 5_000,
    // Networks drop connections that are idle for minutes, without notice.
    maxIdleTimeMS: 60_000,
    // More than are ever used side by side (64 batches of changes, three commands each): one is needed to ask what the server works
    // on, and one to confirm the right to write, for which commands wait that hold connections.
    maxPoolSize: 256,
    // Not among the options that the driver declares.
    connectionType: guardedConnection({
      writeGuard,
      async isWorkedOn({ address, connectionId }, signal) {
        return await isWorkedOn(askServer(decoded, address), connectionId, signal);
      },
      lostWrite(connection) {
        lostWrites.add(connection);
      },
    }),
  } as const;
  try {
    decoded = new MongoClient(options.uri, settings);
    const raw = new MongoClient(options.uri, { ...settings, raw: true });
    return {
      decoded,
      raw,
      admin: decoded.db('admin'),
      attempt: watchAttempt(decoded),
      lostWrites,
      writeGuard,
      routers: new RouterAddresses(decoded),
      formerConnections: new FormerConnections(appName, mark),
      [Symbol.asyncDispose]: async () => {
        await Promise.all([decoded.close(), raw.close()]);
      },
    };
  } catch (error) {
    throw new SyncError('InvalidOption', `--${options.option}: ${messageOf(error)}`);
  }
}

/**
 * Connects the clients of a cluster. To be called, and retried until it succeeds, before anything else: a client whose first
 * connection has failed answers every later command with "Topology is closed", unless it is connected again.
 * @throws SyncError AuthenticationFailed, ClusterUnreachable and other named errors of connections.
 */
export async function connectCluster(
  { decoded, raw, attempt }: ClusterClient,
  signal: AbortSignal,
): Promise<void> {
  const settled = new AbortController();
  const aborted = once(signal, 'abort', { signal: settled.signal });
  try {
    signal.throwIfAborted();
    await Promise.race([Promise.all([decoded.connect(), raw.connect()]), aborted]);
    signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    throw connectionError(error, attempt) ?? error;
  } finally {
    settled.abort();
    await aborted.catch(() => undefined);
  }
}

/**
 * The connections of a process that worked under the same name before. It may have been killed while the network, or a router,
 * held one of its writes: as long as the server considers that connection open, the write may still arrive.
 */
export class FormerConnections {
  readonly #name: { readonly appName: string; readonly mark: string };
  #firstAskedAtMs: number | undefined;
  #areGone = false;

  /** @param mark - in the platform field that this process's connections send, and in no other's. */
  constructor(appName: string, mark: string) {
    this.#name = { appName, mark };
  }

  /** This process has taken the place of the one before: whatever that one has sent arrives within 30 s from now. */
  takeOver(): void {
    this.#firstAskedAtMs ??= performance.now();
  }

  /** Forgets what is known of them: another process may have had the place since. */
  forget(): void {
    this.#firstAskedAtMs = undefined;
    this.#areGone = false;
  }

  /**
   * Those of the processes that work under another name.
   * @param sinceMs - since when they have sent nothing that matters, by performance.now: that arrives within 30 s from then.
   */
  of(appName: string, sinceMs: number): FormerConnections {
    const others = new FormerConnections(appName, this.#name.mark);
    others.#firstAskedAtMs = sinceMs;
    return others;
  }

  /**
   * How many of them the primary, or any router, considers open, until there were none once, or 30 s after the first question
   * or the takeover.
   */
  async count(cluster: AskedCluster, signal: AbortSignal): Promise<number> {
    this.takeOver();
    this.#areGone ||= performance.now() - (this.#firstAskedAtMs ?? 0) > maxHeldMs;
    if (this.#areGone) return 0;
    const { admin, decoded, routers } = cluster;
    const count = routers.areThere
      ? await countOnRouters(routers.all, signal, async (address) => {
          return await connectionsOfOthers(askServer(decoded, address), this.#name, signal);
        })
      : await connectionsOfOthers(askPrimary(admin), this.#name, signal);
    this.#areGone = count === 0;
    return count;
  }
}
