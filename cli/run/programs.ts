import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type { Topology } from '../../mongo/topology.ts';
import { connectionOptions, type GivenConnection } from '../../mongo/connection.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { environmentName } from '../../service/options.ts';
import { ApiClient } from '../api/api-client.ts';
import { VerifierApi } from '../api/verifier-api.ts';
import { ChildProgram, type ProgramSpec } from './child-program.ts';
import { Instances } from '../api/instances.ts';
import type { DeploymentOptions, ProgramOptions } from './options.ts';
import type { Sides } from './reach.ts';

/** What the programs of a migration need. */
export interface ProgramSettings {
  readonly options: ProgramOptions;
  /** Of the start options: commands are for the sync that was started with these. */
  readonly digest: string;
  /** Whether the syncers must change nothing: they only report the existing sync. */
  readonly isTried: boolean;
  readonly logFile: string | undefined;
  readonly onWarning: (text: string) => void;
}

/** What was given for the connections to a side, by the names that another program has for these options. */
function connectionValues(
  side: keyof Sides<unknown>,
  prefix: string,
  options: DeploymentOptions,
): Record<string, string> {
  const names = Object.keys(connectionOptions(side, side)) as (keyof GivenConnection<
    typeof side
  >)[];
  const renamed = names.map((name) => [`${prefix}${name.slice(side.length)}`, options[name]]);
  return textsOf(Object.fromEntries(renamed) as Record<string, string | undefined>);
}

/** What was given of these options: a program knows its own defaults. */
function textsOf(
  options: Readonly<Record<string, string | number | undefined>>,
): Record<string, string> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

/** The name of the verification of a migration in its metadata store. */
export const verificationName = 'run';

/** The syncers and the verifier of a migration. They end with this object. */
export class Programs implements AsyncDisposable {
  readonly #settings: ProgramSettings;
  readonly #resources = new AsyncDisposableStack();
  readonly #writeLog: (line: string) => void;

  private constructor(settings: ProgramSettings, writeLog: (line: string) => void) {
    this.#settings = settings;
    this.#writeLog = writeLog;
  }

  /** @throws SyncError InvalidOption if the log file cannot be written. */
  static async open(settings: ProgramSettings): Promise<Programs> {
    const { logFile } = settings;
    if (logFile === undefined) return new Programs(settings, () => undefined);
    const log = createWriteStream(logFile, { flags: 'a', mode: 0o600 });
    try {
      await once(log, 'open');
    } catch (error) {
      throw new SyncError('InvalidOption', `--log-file: ${logFile} cannot be written`, {
        cause: error,
      });
    }
    // A lost log does not stop the migration.
    log.once('error', (error) => {
      settings.onWarning(`--log-file: ${messageOf(error)}; nothing more is written to it`);
    });
    const programs = new Programs(settings, (line) => {
      if (log.writable) log.write(`${line}\n`);
    });
    programs.#resources.defer(async () => {
      log.end();
      await finished(log).catch(() => undefined);
    });
    return programs;
  }

  /** Starts one syncer for a replica set, and one for each shard of a sharded cluster. */
  async startSyncers({ kind, shards }: Topology, signal: AbortSignal): Promise<Instances> {
    const { digest, isTried, options: given } = this.#settings;
    const connections = {
      ...{ cluster0: given.source, cluster1: given.destination },
      ...connectionValues('source', 'cluster0', given),
      ...connectionValues('destination', 'cluster1', given),
      ...textsOf({ copyWorkers: given.copyWorkers, applyWorkers: given.applyWorkers }),
    };
    const ids = kind === 'sharded' ? shards : [undefined];
    const syncers = await Promise.all(
      ids.map(async (id, index) => {
        const name = id === undefined ? 'the syncer' : `the syncer of ${id}`;
        const options = {
          ...connections,
          continues: isTried ? 'none' : digest,
          ...(id === undefined ? {} : { id, preferCoordinator: String(index === 0) }),
        };
        return await this.#start(name, 'syncer', options, signal);
      }),
    );
    const addresses = syncers.map((syncer) => () => syncer.address);
    return new Instances(addresses, digest);
  }

  /** Starts the verifier. @param attempt - a higher one than before starts over. */
  async startVerifier(attempt: number, signal: AbortSignal): Promise<VerifierApi> {
    const { options: given } = this.#settings;
    const options = {
      ...{ srcURI: given.source, destURI: given.destination },
      ...connectionValues('source', 'src', given),
      ...connectionValues('destination', 'dest', given),
      ...textsOf({
        maxBytesPerSecond: given.verifierMaxBytesPerSecond,
        readPreference: given.verifierReadPreference,
      }),
      verification: verificationName,
      attempt: String(attempt),
      id: verificationName,
    };
    const verifier = await this.#start('the verifier', 'verifier', options, signal);
    return new VerifierApi(new ApiClient(() => verifier.address));
  }

  async #start(
    name: string,
    command: string,
    options: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<ChildProgram> {
    const apiToken = randomBytes(32).toString('hex');
    const all = { port: '0', host: '127.0.0.1', apiToken, ...options };
    const env = Object.entries(all).map(([option, value]) => [environmentName(option), value]);
    const spec: ProgramSpec = {
      name,
      command,
      env: Object.fromEntries(env) as Record<string, string>,
      apiToken,
      onLine: this.#writeLog,
      onWarning: this.#settings.onWarning,
    };
    return this.#resources.use(await ChildProgram.start(spec, signal));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}
