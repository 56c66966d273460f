import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { GuardedFolder } from '../guarded-folder.ts';
import { serverPair, type Side } from './server-pair.ts';
import { ServerProcess } from './server-process.ts';
import { withSmallDisk } from './small-disk.ts';

/** The log entry "Waiting for connections" of mongod and mongos. */
export const listeningEntry = '"id":23016';

const binaries = new Map<string | undefined, Promise<string>>();

/**
 * Path of the mongod that the tests use on a side, downloaded when there is none (see mongod-binary.sh). `SERVERS` names those
 * of both sides.
 */
export async function mongodBinary(side: Side): Promise<string> {
  const server = serverPair(process.env['SERVERS'])?.[side];
  const binary = binaries.get(server) ?? findBinary(server);
  binaries.set(server, binary);
  return await binary;
}

/** The exit code of mongod-binary.sh where this machine cannot have a server. */
const cannotHaveExitCode = 3;

/** Why this machine cannot have a server of `SERVERS`; undefined where it has both. */
export async function missingServer(): Promise<string | undefined> {
  const pair = serverPair(process.env['SERVERS']);
  if (pair === undefined) return undefined;
  try {
    await mongodBinary('source');
    await mongodBinary('destination');
    return undefined;
  } catch (error) {
    const { code, stderr } = error as { readonly code?: unknown; readonly stderr?: string };
    if (code !== cannotHaveExitCode || stderr === undefined) throw error;
    return stderr.trim().split('\n').at(-1);
  }
}

/** The release of the mongod that the tests use on a side, such as 6.0.27. */
export async function mongodRelease(side: Side): Promise<string> {
  const { stdout } = await promisify(execFile)(await mongodBinary(side), ['--version']);
  const [, release] = /^db version v(\S+)/m.exec(stdout) ?? [];
  if (release === undefined) throw new Error(`mongod --version says: ${stdout}`);
  return release;
}

async function findBinary(server: string | undefined): Promise<string> {
  const script = fileURLToPath(new URL('mongod-binary.sh', import.meta.url));
  const { stdout, stderr } = await promisify(execFile)(
    script,
    server === undefined ? [] : [server],
  );
  process.stderr.write(stderr);
  return stdout.trim();
}

/** What a mongod is started with. */
export interface MongodOptions {
  readonly side: Side;
  readonly folder: GuardedFolder;
  /** Unique in the folder: names the data folder and the log. */
  readonly name: string;
  /** All arguments but the port and the data folder. */
  readonly args: readonly string[];
  /** The size of a file system of its own for its data, which ends with it: see {@link withSmallDisk}. */
  readonly diskBytes?: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * Starts a mongod on a free port and waits until it accepts connections. It keeps its data when it is started again, unless they
 * are on a file system of its own.
 */
export async function startMongod(options: MongodOptions): Promise<ServerProcess> {
  const { side, folder, name, diskBytes, signal } = options;
  const dataFolder = join(folder.path, name);
  mkdirSync(dataFolder);
  const binary = await mongodBinary(side);
  const [file, ...before] =
    diskBytes === undefined ? ([binary] as const) : withSmallDisk(dataFolder, diskBytes, [binary]);
  const args = (port: number): readonly string[] => [
    ...before,
    ...['--port', String(port), '--dbpath', dataFolder],
    ...options.args,
  ];
  const program = { file, args, listeningText: listeningEntry };
  return await ServerProcess.start({ folder, name, program, signal });
}

/** Makes the key file by which the members of a deployment know each other, and gives its path. */
export async function createKeyFile(folder: GuardedFolder): Promise<string> {
  const keyFile = join(folder.path, 'key-file');
  await writeFile(keyFile, randomBytes(96).toString('base64'), { mode: 0o600 });
  return keyFile;
}

/** What is the same in all mongods of the tests. */
export interface MemberOptions {
  readonly keyFile: string;
  readonly setName: string;
  /** Addresses that it listens on besides 127.0.0.1. */
  readonly bindIp?: readonly string[] | undefined;
  readonly oplogSizeMB: number;
  /**
   * It is its set's only member. A majority has what its journal has; by default that is written every 100 ms where no
   * write asks for it, and index builds and change streams wait for that.
   */
  readonly isAlone: boolean;
  readonly parameters?: Readonly<Record<string, string | number | boolean>> | undefined;
}

/** The arguments of a member of a replica set with authentication. */
export function memberArguments(options: MemberOptions): readonly string[] {
  const parameters = {
    diagnosticDataCollectionEnabled: false,
    // The least that is allowed: tests authenticate often.
    scramSHA256IterationCount: 5000,
    shutdownTimeoutMillisForSignaledShutdown: 1000,
    ...options.parameters,
  };
  return [
    ...['--auth', '--keyFile', options.keyFile, '--replSet', options.setName],
    ...['--bind_ip', ['127.0.0.1', ...(options.bindIp ?? [])].join(','), '--nounixsocket'],
    ...(options.isAlone ? ['--journalCommitInterval', '40'] : []),
    ...['--oplogSize', String(options.oplogSizeMB), '--wiredTigerCacheSizeGB', '0.25'],
    ...Object.entries(parameters).flatMap(([name, value]) => [
      '--setParameter',
      `${name}=${String(value)}`,
    ]),
  ];
}
