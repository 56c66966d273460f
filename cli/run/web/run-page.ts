import {
  startDashboard,
  type DashboardServer,
} from '../../../dashboard/server/dashboard-server.ts';
import { SyncError, toSyncError } from '../../../service/errors.ts';
import type { Logger } from '../../../service/logger.ts';
import { redact } from '../../../service/redact.ts';
import type { Instances } from '../../api/instances.ts';
import type { View } from '../../render/frame.ts';
import { RunSource } from './run-source.ts';
import type { RunFacts } from './run-views.ts';

const host = '127.0.0.1';

/** How long the end waits for open pages. */
const lastWordMs = 2_000;

/** The dashboard's page for one migration, as long as its command runs. Only this machine can reach it. */
export class RunPage implements AsyncDisposable {
  readonly #source: RunSource;
  readonly #server: DashboardServer;

  private constructor(source: RunSource, server: DashboardServer) {
    this.#source = source;
    this.#server = server;
  }

  /**
   * @param port - 0 for any free one.
   * @throws SyncError InvalidOption if the port is taken.
   */
  static async serve(port: number, facts: RunFacts, logger: Logger): Promise<RunPage> {
    const source = new RunSource(facts, new Date());
    try {
      return new RunPage(source, await startDashboard({ host, port, source, logger }));
    } catch (error) {
      if (!(error instanceof SyncError)) throw error;
      throw new SyncError(error.name, `--web: ${error.message}`, { cause: error });
    }
  }

  get url(): string {
    return `http://${host}:${this.#server.port}/`;
  }

  /** The syncers can be queried from now on. */
  ask(instances: Instances): void {
    this.#source.ask(instances);
  }

  show(view: View): void {
    this.#source.show(view, new Date());
  }

  /** Shows that the command ends before the migration does, and what continues the migration. */
  stop(text: string): void {
    this.#source.end({ kind: 'stopped', message: redact(text) });
  }

  /** Shows why the command ends. */
  fail(thrown: unknown): void {
    const { name, message } = toSyncError(thrown);
    this.#source.end({ kind: 'failed', name, message: redact(message) });
  }

  /** Open pages keep the last state. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.tellAll(AbortSignal.timeout(lastWordMs)).catch(() => undefined);
    await this.#server[Symbol.asyncDispose]();
  }
}
