import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MongoClient, type Document } from 'mongodb';
import { createGuardedFolder, type GuardedFolder } from '../guarded-folder.ts';
import {
  createKeyFile,
  listeningEntry,
  memberArguments,
  mongodBinary,
  startMongod,
} from '../mongod/mongod-process.ts';
import { sideOf, type Side } from '../mongod/server-pair.ts';
import { ServerProcess, type ServerProgram } from '../mongod/server-process.ts';
import {
  createUser,
  credentials,
  rolesOfUsers,
  type SyncerRoles,
  type TestUser,
} from '../mongod/users.ts';
import { awaitHello, waitSignal, type WaitOptions } from '../mongod/waiting.ts';
import { mongosBinary } from './mongos-binary.ts';
import { listeningText, type RouterFile } from './router/router-file.ts';

const routerProgram = fileURLToPath(new URL('router/main.ts', import.meta.url));

/** Resharding would take five minutes at least. */
const configParameters = { reshardingMinimumOperationDurationMillis: 0 };

const majority = { writeConcern: { w: 'majority' } } as const;

/** What a sharded cluster is made of. */
export interface ShardedClusterOptions extends WaitOptions {
  readonly shards: 1 | 2 | 3 | 4;
  /** How many routers. Default 1. */
  readonly routers?: number;
  /** The ids of the shards are this name with -0, -1... Default `shard`. */
  readonly name?: string;
  /** Whose servers it runs, where neither its name nor its roles tell it (see {@link sideOf}). */
  readonly side?: Side;
  /** The roles of the user `syncer`. Default `sourceWithWriteBlocking`, which is enough for either side. */
  readonly syncerRoles?: SyncerRoles;
  /** Addresses that the routers listen on besides 127.0.0.1. */
  readonly bindIp?: readonly string[];
  /** The host under which clients find the routers. Default 127.0.0.1. */
  readonly advertisedHost?: string;
  /** Server parameters of the shards. */
  readonly parameters?: Readonly<Record<string, string | number | boolean>>;
}

/**
 * A running sharded cluster with authentication: a config server and shards of one member each, and routers. A real
 * mongos is used where there is one (see mongos-binary.ts), otherwise the router of the tests, all of one cluster in one
 * process. The balancer is stopped.
 */
export interface ShardedCluster extends AsyncDisposable {
  /** The ids of the shards. */
  readonly shards: readonly string[];
  /** `<host>:<port>` of each router. */
  readonly routers: readonly string[];
  readonly routerKind: 'mongos' | 'router of the tests';
  /** A connection string to all routers, or to one of them, percent-encoded; options are appended as they are given. */
  uri(user: TestUser, options?: Readonly<Record<string, string>>, router?: string): string;
  /**
   * A client of one shard itself, which may do everything there: it sees what really is on the shard, orphaned documents
   * too. Users of the cluster cannot log in to a shard. It is closed with the cluster.
   */
  shardClient(shard: string): MongoClient;
  /** A client of the config server, which may do everything there. */
  configClient(): MongoClient;
  /** Clients of the mongods that route for the routers of the tests, which may do everything there; none with a mongos. */
  innerRouterClients(): readonly MongoClient[];
  /** Kills all routers. */
  killRouters(): Promise<void>;
  /** Starts the routers again, on the same ports. */
  restartRouters(options?: WaitOptions): Promise<void>;
  /** Kills the server of a shard. */
  killShard(shard: string): Promise<void>;
  /** Starts the server of a shard again, on its port and data, and waits until it is primary. */
  restartShard(shard: string, options?: WaitOptions): Promise<void>;
  /** Kills all servers and removes their data. May be called again. */
  stop(): Promise<void>;
}

/** Starts a sharded cluster on free loopback ports. */
export async function startShardedCluster(options: ShardedClusterOptions): Promise<ShardedCluster> {
  const signal = waitSignal(options);
  const side = sideOf(options);
  await mongodBinary(side);
  const folder = await createGuardedFolder();
  const cluster = new LocalShardedCluster(folder, side);
  try {
    await cluster.start(options, signal);
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** A server of the cluster, and a client that is to it what its fellow members are. */
interface Node {
  readonly id: string;
  readonly process: ServerProcess;
  readonly address: string;
  readonly client: MongoClient;
}

class LocalShardedCluster implements ShardedCluster {
  readonly #folder: GuardedFolder;
  readonly #side: Side;
  readonly #nodes = new Map<string, Node>();
  #shards: readonly string[] = [];
  #innerRouters: readonly Node[] = [];
  #routers: readonly ServerProcess[] = [];
  #routerAddresses: readonly string[] = [];
  #routerKind: ShardedCluster['routerKind'] = 'mongos';

  constructor(folder: GuardedFolder, side: Side) {
    this.#folder = folder;
    this.#side = side;
  }

  async start(options: ShardedClusterOptions, signal: AbortSignal): Promise<void> {
    const mongos = await mongosBinary(this.#side);
    const keyFile = await createKeyFile(this.#folder);
    const name = options.name ?? 'shard';
    const shards = Array.from({ length: options.shards }, (_, index) => `${name}-${index}`);
    const count = options.routers ?? 1;
    const inner =
      mongos === undefined ? Array.from({ length: count }, (_, i) => `router-${i}`) : [];
    const started = await Promise.all([
      this.#startNode({
        id: 'config',
        role: '--configsvr',
        keyFile,
        signal,
        parameters: configParameters,
      }),
      ...[...shards, ...inner].map(async (id) => {
        const { parameters } = options;
        return await this.#startNode({ id, role: '--shardsvr', keyFile, signal, parameters });
      }),
    ]);
    const [config] = started;
    this.#shards = shards;
    for (const node of started.filter(({ id }) => shards.includes(id))) {
      const add = { _configsvrAddShard: `${node.id}/${node.address}`, name: node.id, ...majority };
      await config.client.db('admin').command(add, { signal });
    }
    await config.client.db('admin').command({ _configsvrBalancerStop: 1 }, { signal });
    for (const [user, roles] of rolesOfUsers(options.syncerRoles ?? 'sourceWithWriteBlocking')) {
      signal.throwIfAborted();
      await createUser(config.client, user, roles, 1);
    }
    const set = `config/${config.address}`;
    const hosts = ['127.0.0.1', ...(options.bindIp ?? [])];
    const host = options.advertisedHost ?? '127.0.0.1';
    if (mongos === undefined) {
      const nodes = started.filter(({ id }) => inner.includes(id));
      await Promise.all(
        nodes.map(async (node) => {
          await becomeRouter(node, config, signal);
        }),
      );
      const file = {
        ...{ config: config.address, keyFile, hosts },
        inner: nodes.map(({ address }) => address),
      };
      this.#innerRouters = nodes;
      const { port } = await this.#startTestRouters(file, signal);
      this.#routerAddresses = nodes.map((_, index) => `${host}:${port + index}`);
    } else {
      const args = ['--configdb', set, '--keyFile', keyFile, '--bind_ip', hosts.join(',')];
      await this.#startMongos(mongos, count, args, signal);
      this.#routerAddresses = this.#routers.map(({ port }) => `${host}:${port}`);
    }
  }

  async #startNode(options: {
    readonly id: string;
    readonly role: string;
    readonly keyFile: string;
    readonly parameters: ShardedClusterOptions['parameters'];
    readonly signal: AbortSignal;
  }): Promise<Node> {
    const { id, role, keyFile, signal } = options;
    const args = [
      role,
      ...memberArguments({
        ...{ keyFile, setName: id, oplogSizeMB: 256, isAlone: true },
        parameters: {
          periodicNoopIntervalSecs: 1,
          orphanCleanupDelaySecs: 0,
          ...options.parameters,
        },
      }),
    ];
    const process = await startMongod({
      side: this.#side,
      folder: this.#folder,
      name: id,
      args,
      signal,
    });
    const address = `127.0.0.1:${process.port}`;
    const client = memberClient(address, await readFile(keyFile, 'utf8'));
    const node = { id, process, address, client };
    this.#nodes.set(id, node);
    await client.db('admin').command({
      replSetInitiate: {
        _id: id,
        ...(role === '--configsvr' && { configsvr: true }),
        members: [{ _id: 0, host: address }],
        // Alone, it waits for nobody when it is started again.
        settings: { electionTimeoutMillis: 500 },
      },
    });
    await untilPrimary(node, signal);
    return node;
  }

  async #startTestRouters(file: RouterFile, signal: AbortSignal): Promise<ServerProcess> {
    const path = join(this.#folder.path, 'routers.json');
    await writeFile(path, JSON.stringify(file));
    const router = await this.#startRouter('routers', signal, {
      file: process.execPath,
      args: (port) => [routerProgram, path, '--port', String(port)],
      listeningText,
    });
    this.#routerKind = 'router of the tests';
    this.#routers = [router];
    return router;
  }

  async #startMongos(
    file: string,
    count: number,
    args: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    this.#routers = await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        return await this.#startRouter(`mongos-${index}`, signal, {
          file,
          args: (port) => [...args, '--port', String(port)],
          listeningText: listeningEntry,
        });
      }),
    );
  }

  async #startRouter(
    name: string,
    signal: AbortSignal,
    program: ServerProgram,
  ): Promise<ServerProcess> {
    return await ServerProcess.start({ folder: this.#folder, name, program, signal });
  }

  get shards(): readonly string[] {
    return this.#shards;
  }

  get routers(): readonly string[] {
    return this.#routerAddresses;
  }

  get routerKind(): ShardedCluster['routerKind'] {
    return this.#routerKind;
  }

  uri(
    user: TestUser,
    options: Readonly<Record<string, string>> = {},
    router = this.#routerAddresses.join(','),
  ): string {
    const query = new URLSearchParams(options).toString();
    return `mongodb://${credentials(user)}@${router}/${query === '' ? '' : `?${query}`}`;
  }

  shardClient(shard: string): MongoClient {
    return this.#shard(shard).client;
  }

  configClient(): MongoClient {
    const config = this.#nodes.get('config');
    if (config === undefined) throw new Error('the cluster has not been started');
    return config.client;
  }

  innerRouterClients(): readonly MongoClient[] {
    return this.#innerRouters.map(({ client }) => client);
  }

  async killRouters(): Promise<void> {
    await Promise.all(
      this.#routers.map(async (router) => {
        await router.kill('SIGKILL');
      }),
    );
  }

  async restartRouters(options: WaitOptions = {}): Promise<void> {
    const signal = waitSignal(options);
    await Promise.all(
      this.#routers.map(async (router) => {
        await router.restart(signal);
      }),
    );
  }

  async killShard(shard: string): Promise<void> {
    await this.#shard(shard).process.kill('SIGKILL');
  }

  async restartShard(shard: string, options: WaitOptions = {}): Promise<void> {
    const signal = waitSignal(options);
    await this.#shard(shard).process.restart(signal);
    await untilPrimary(this.#shard(shard), signal);
  }

  async stop(): Promise<void> {
    await Promise.all(
      Array.from(this.#nodes.values(), async ({ client }) => {
        await client.close();
      }),
    );
    await this.#folder.remove();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #shard(id: string): Node {
    const node = this.#shards.includes(id) ? this.#nodes.get(id) : undefined;
    if (node === undefined) throw new Error(`there is no shard ${id}`);
    return node;
  }
}

/** Logs in as the members of a cluster do to each other: with the content of the key file. */
function memberClient(address: string, key: string): MongoClient {
  return new MongoClient(`mongodb://${address}/?directConnection=true`, {
    auth: { username: '__system', password: key },
    authMechanism: 'SCRAM-SHA-256',
    authSource: 'local',
  });
}

async function untilPrimary({ client }: Node, signal: AbortSignal): Promise<void> {
  await awaitHello(client, (hello: Document) => hello['isWritablePrimary'] === true, signal);
}

/** Gives a server what makes it one of the cluster, without adding it to the shards: it can route, and has no data. */
async function becomeRouter(node: Node, config: Node, signal: AbortSignal): Promise<void> {
  const version = await config.client.db('config').collection('version').findOne({}, { signal });
  await node.client.db('admin').command(
    {
      _addShard: 1,
      shardIdentity: {
        shardName: node.id,
        clusterId: version?.['clusterId'] as unknown,
        configsvrConnectionString: `config/${config.address}`,
      },
    },
    { signal },
  );
}
