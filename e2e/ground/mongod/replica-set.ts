import type { MongoClient, Document } from 'mongodb';
import { sleep } from '../../../service/sleep.ts';
import { createGuardedFolder, type GuardedFolder } from '../guarded-folder.ts';
import { createKeyFile, memberArguments, mongodBinary, startMongod } from './mongod-process.ts';
import { sideOf, type Side } from './server-pair.ts';
import type { ServerProcess } from './server-process.ts';
import { createUser, credentials, rolesOfUsers, type SyncerRoles, type TestUser } from './users.ts';
import {
  awaitHello,
  retryDelayMs,
  untilAnswered,
  usingClient,
  waitSignal,
  type WaitOptions,
} from './waiting.ts';

/** What a replica set is made of. */
export interface ReplicaSetOptions {
  readonly members: 1 | 3;
  /** The last of three members votes, and has no data (primary, secondary, arbiter). Default false. */
  readonly hasArbiter?: boolean;
  /** Name of the set. Default `rs0`. */
  readonly name?: string;
  /** Whose server it runs, where neither its name nor its roles tell it (see {@link sideOf}). */
  readonly side?: Side;
  /** Default 512; it takes no space before it is used. */
  readonly oplogSizeMB?: number;
  /** The roles of the user `syncer`. Default `sourceWithWriteBlocking`, which is enough for either side. */
  readonly syncerRoles?: SyncerRoles;
  /** Addresses that the members listen on besides 127.0.0.1. */
  readonly bindIp?: readonly string[];
  /** The host under which the members know each other and clients find them. Default 127.0.0.1. */
  readonly advertisedHost?: string;
  /**
   * Opens something in front of the port of a member, and returns the `host:port` under which the members know it and
   * clients find it, instead of its own. Called before the set is made.
   */
  readonly front?: (port: number) => Promise<string>;
  /** How long without a primary before an election. Default 5000. */
  readonly electionTimeoutMs?: number;
  /** Server parameters (`--setParameter`). */
  readonly parameters?: Readonly<Record<string, string | number | boolean>>;
  /** More arguments for each mongod. */
  readonly args?: readonly string[];
  /** The size of a file system of its own for the data of each member: see `withSmallDisk`. Default: none. */
  readonly diskBytes?: number;
  /** Ends the start, leaving nothing behind. */
  readonly signal?: AbortSignal;
  /** Within what time it must be ready. Default: {@link defaultDeadlineMs}. */
  readonly deadlineMs?: number;
}

/** One member of a replica set. */
export interface Member {
  /** `host:port` under which the other members and clients find it. */
  readonly address: string;
  readonly port: number;
  /** Undefined while it is not running. */
  readonly pid: number | undefined;
  /** Path of its log. */
  readonly logFile: string;
}

/** A running replica set with authentication. Its data and its processes end with it, or with this process. */
export interface ReplicaSet extends AsyncDisposable {
  readonly name: string;
  readonly members: readonly Member[];
  /** A connection string, percent-encoded, without a database; options are appended as they are given. */
  uri(user: TestUser, options?: Readonly<Record<string, string>>): string;
  /** A connection string to one member alone. */
  directUri(user: TestUser, member: Member): string;
  /** The member that is primary, as soon as there is one. */
  primary(options?: WaitOptions): Promise<Member>;
  /** Sends a signal (default SIGKILL) and waits for the end of the process; SIGSTOP and SIGCONT wait for nothing. */
  kill(member: Member, signal?: NodeJS.Signals): Promise<void>;
  /** Starts a member again, on its port and data, and waits until it is primary or secondary. */
  restart(member: Member, options?: WaitOptions): Promise<void>;
  /** Makes the primary step down and waits for the next one, which is returned (with one member, the same). */
  stepDown(options?: WaitOptions): Promise<Member>;
  /** Kills the members and removes their data. May be called again. */
  stop(): Promise<void>;
}

/**
 * Starts a replica set on free loopback ports. Ready means: there is a primary, every other member is a secondary that
 * has all three users, and writes with majority concern are acknowledged.
 */
export async function startReplicaSet(options: ReplicaSetOptions): Promise<ReplicaSet> {
  const signal = waitSignal(options);
  const side = sideOf(options);
  await mongodBinary(side);
  const folder = await createGuardedFolder();
  try {
    const args = [
      ...memberArguments({
        keyFile: await createKeyFile(folder),
        setName: options.name ?? 'rs0',
        bindIp: options.bindIp,
        oplogSizeMB: options.oplogSizeMB ?? 512,
        isAlone: options.members === 1,
        parameters: options.parameters,
      }),
      ...(options.args ?? []),
    ];
    const processes = await Promise.all(
      Array.from({ length: options.members }, async (_, index) => {
        const { diskBytes } = options;
        return await startMongod({
          side,
          folder,
          name: `member-${index}`,
          args,
          diskBytes,
          signal,
        });
      }),
    );
    const set = new LocalReplicaSet(options, folder, await membersOf(processes, options));
    await set.initiate(options, signal);
    return set;
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

class LocalReplicaSet implements ReplicaSet {
  readonly name: string;
  readonly members: readonly Member[];
  readonly #folder: GuardedFolder;
  readonly #processes: ReadonlyMap<Member, ServerProcess>;

  constructor(
    options: ReplicaSetOptions,
    folder: GuardedFolder,
    processes: ReadonlyMap<Member, ServerProcess>,
  ) {
    this.name = options.name ?? 'rs0';
    this.#folder = folder;
    this.#processes = processes;
    this.members = [...this.#processes.keys()];
  }

  /** Starts with one member, which elects itself at once, and adds the others when the users exist. */
  async initiate(options: ReplicaSetOptions, signal: AbortSignal): Promise<void> {
    const [first, ...others] = this.members;
    if (first === undefined) throw new Error('a replica set has members');
    await usingClient(loopbackUri(first), async (client) => {
      await client.db('admin').command({ replSetInitiate: this.#config(options, [first]) });
      await awaitHello(client, (hello) => hello['isWritablePrimary'] === true, signal);
      const [user] = rolesOfUsers(options.syncerRoles ?? 'sourceWithWriteBlocking');
      if (user !== undefined) await createUser(client, ...user, 1);
    });
    await usingClient(this.directUri('admin', first), async (client) => {
      if (options.hasArbiter) {
        // Otherwise an arbiter would change the default, which the server refuses.
        const defaultWriteConcern = { w: 'majority' };
        await client.db('admin').command({ setDefaultRWConcern: 1, defaultWriteConcern });
      }
      if (others.length > 0) {
        await client.db('admin').command({
          replSetReconfig: this.#config(options, this.members),
          force: true,
        });
      }
    });
    // On a busy machine the first member may step down after that.
    await usingClient(this.uri('admin'), async (client) => {
      const users = rolesOfUsers(options.syncerRoles ?? 'sourceWithWriteBlocking').slice(1);
      for (const user of users) {
        await untilAnswered(signal, async () => {
          signal.throwIfAborted();
          await createUser(client, ...user, this.members.length - (options.hasArbiter ? 1 : 0));
        });
      }
    });
    await Promise.all(
      others.map(async (member) => {
        await awaitState(member, signal);
      }),
    );
  }

  #config(options: ReplicaSetOptions, members: readonly Member[]): Document {
    return {
      _id: this.name,
      version: members.length,
      members: members.map((member, index) => ({
        _id: index,
        host: member.address,
        ...(options.hasArbiter && index === 2 && { arbiterOnly: true, priority: 0 }),
      })),
      settings: {
        electionTimeoutMillis: options.electionTimeoutMs ?? 5000,
        heartbeatIntervalMillis: 200,
      },
    };
  }

  uri(user: TestUser, options: Readonly<Record<string, string>> = {}): string {
    const hosts = this.members.map(({ address }) => address).join(',');
    const query = new URLSearchParams({ replicaSet: this.name, ...options });
    return `mongodb://${credentials(user)}@${hosts}/?${query.toString()}`;
  }

  directUri(user: TestUser, member: Member): string {
    return `mongodb://${credentials(user)}@${member.address}/?directConnection=true`;
  }

  async primary(options: WaitOptions = {}): Promise<Member> {
    const signal = waitSignal(options);
    return await usingClient(
      this.uri('admin'),
      async (client) => await this.#primary(client, signal),
    );
  }

  async #primary(client: MongoClient, signal: AbortSignal): Promise<Member> {
    for (;;) {
      const hello = await untilAnswered(signal, async () => {
        return await client
          .db('admin')
          .command({ hello: 1 }, { readPreference: 'primary', signal });
      });
      const member = this.members.find(({ address }) => address === hello['me']);
      // The client may not know yet that its primary has stepped down.
      if (member !== undefined && hello['isWritablePrimary'] === true) return member;
      await sleep(retryDelayMs, signal);
    }
  }

  async kill(member: Member, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await this.#process(member).kill(signal);
  }

  async restart(member: Member, options: WaitOptions = {}): Promise<void> {
    const signal = waitSignal(options);
    await this.#process(member).restart(signal);
    await awaitState(member, signal);
  }

  async stepDown(options: WaitOptions = {}): Promise<Member> {
    const signal = waitSignal(options);
    return await usingClient(this.uri('admin'), async (client) => {
      const isAlone = this.members.length === 1;
      const command = isAlone ? { replSetStepDown: 1, force: true } : { replSetStepDown: 10 };
      const before = await untilAnswered(signal, async () => {
        const primary = await this.#primary(client, signal);
        await client.db('admin').command(command, { signal });
        return primary;
      });
      for (;;) {
        const after = await this.#primary(client, signal);
        if (isAlone || after !== before) return after;
        await sleep(retryDelayMs, signal);
      }
    });
  }

  async stop(): Promise<void> {
    await this.#folder.remove();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #process(member: Member): ServerProcess {
    const process = this.#processes.get(member);
    if (process === undefined) throw new Error(`${member.address} is not a member of ${this.name}`);
    return process;
  }
}

async function membersOf(
  processes: readonly ServerProcess[],
  { advertisedHost = '127.0.0.1', front }: ReplicaSetOptions,
): Promise<ReadonlyMap<Member, ServerProcess>> {
  const members = new Map<Member, ServerProcess>();
  for (const process of processes) {
    const address = front ? await front(process.port) : `${advertisedHost}:${process.port}`;
    members.set(memberOf(process, address), process);
  }
  return members;
}

function memberOf(process: ServerProcess, address: string): Member {
  return {
    address,
    port: process.port,
    get pid() {
      return process.pid;
    },
    logFile: process.logFile,
  };
}

/** Needs no user: hello is always allowed, and before there are users, all is (the localhost exception). */
function loopbackUri(member: Member): string {
  return `mongodb://127.0.0.1:${member.port}/?directConnection=true`;
}

/** Waits until a member is primary, secondary or arbiter. */
async function awaitState(member: Member, signal: AbortSignal): Promise<void> {
  await usingClient(loopbackUri(member), async (client) => {
    await awaitHello(
      client,
      (hello) =>
        hello['isWritablePrimary'] === true ||
        hello['secondary'] === true ||
        hello['arbiterOnly'] === true,
      signal,
    );
  });
}
