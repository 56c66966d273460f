import type { Timestamp, WriteConcernSettings } from 'mongodb';
import { writeNoop } from '../../mongo/cluster-time.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import { acknowledgedTogether, underOnePrimary } from '../../mongo/one-primary.ts';
import { retrying } from '../../mongo/retrying.ts';
import { runCommand } from '../../mongo/run-command.ts';
import type { Logger } from '../../service/logger.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import { DestinationCatalog } from './destination-catalog.ts';
import { DestinationDocuments } from './destination-documents.ts';
import { destinationKindOf, type DestinationKind } from './destination-kind.ts';
import { DestinationSharding } from './destination-sharding.ts';
import { DestinationViews } from './destination-views.ts';
import {
  awaitConnectionsOf,
  awaitEarlierWrites,
  type FormerCoordinators,
} from './earlier-writes.ts';
import type { LeftIndexes } from './left-indexes.ts';
import { MadeCollections } from './made-collections.ts';
import { ReplicatedIndexes } from './replicated-indexes.ts';
import { DestinationBlocking } from './write-blocking.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';

/** The parts of a sync's destination. */
export interface DestinationParts {
  readonly deployment: Deployment;
  readonly leftIndexes: LeftIndexes;
  readonly options: StartOptions;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  /** Throws if this instance may not change the destination's catalog because another one coordinates. */
  readonly requireLease: () => void;
  /** Adds a warning to the progress. */
  readonly warn: (warning: string) => Promise<void>;
  /** Aborts when the work is to stop. */
  readonly signal: AbortSignal;
}

/**
 * The destination of a sync: every write to it is fenced, acknowledged by a majority, and retried in one way. Made once for the
 * work on a sync in one direction.
 *
 * - _Fenced_: a connection refuses a write if this process may have lost its instance (mongo/write-guard.ts); a change of the
 *   catalog is refused at sending if another instance may coordinate.
 * - _Retried_ as a whole step, by {@link step} or {@link transfer}, never while what a failed attempt left behind is still
 *   running there.
 */
export class Destination {
  readonly catalog: DestinationCatalog;
  readonly documents: DestinationDocuments;
  readonly indexes: ReplicatedIndexes;
  readonly made: MadeCollections;
  readonly views: DestinationViews;
  readonly sharding: DestinationSharding;
  readonly blocking: DestinationBlocking;
  readonly leftIndexes: LeftIndexes;
  /** The differences between a replica set and a sharded cluster. */
  readonly kind: DestinationKind;
  readonly #parts: DestinationParts;

  constructor(parts: DestinationParts) {
    const { deployment, leftIndexes, requireLease, signal } = parts;
    this.#parts = parts;
    this.leftIndexes = leftIndexes;
    this.kind = destinationKindOf(deployment);
    this.catalog = new DestinationCatalog(deployment, requireLease, signal);
    this.made = new MadeCollections(this.catalog);
    this.views = new DestinationViews(this.catalog);
    this.documents = new DestinationDocuments({ ...parts, destination: deployment });
    const step = async (work: string, run: () => Promise<void>): Promise<void> => {
      await this.step(work, run);
    };
    const { catalog, kind } = this;
    this.indexes = new ReplicatedIndexes({ ...parts, catalog, kind, step });
    this.sharding = new DestinationSharding({ ...parts, catalog, step });
    this.blocking = new DestinationBlocking({ ...parts, kind, step });
  }

  /** The same destination, for work that a narrower signal ends. */
  within(signal: AbortSignal): Destination {
    return new Destination({ ...this.#parts, signal });
  }

  /**
   * Runs a step that writes to the destination until it succeeds, or fails with an error that is not temporary. It never runs
   * beside what a failed attempt left behind there, nor relies on what such an attempt has changed before a majority has that.
   * @param work - its name, for the log, the warnings and the metrics.
   * @param run - gets the number of failures so far. It must be safe to repeat.
   */
  async step<T>(work: string, run: (attempt: number) => Promise<T>): Promise<T> {
    const { deployment, signal } = this.#parts;
    return await retrying(this.#parts, work, async (attempt) => {
      if (attempt === 0) return await run(attempt);
      await this.awaitEarlierWrites();
      return await underOnePrimary(deployment, signal, async () => await run(attempt));
    });
  }

  /**
   * Runs something that writes documents, and relies on nothing that it reads of the destination, until it succeeds: never
   * beside what a failed attempt left behind there.
   * @param isPassing - which errors to retry after, however many there were.
   */
  async transfer<T>(
    work: string,
    run: (attempt: number) => Promise<T>,
    isPassing?: (error: unknown) => boolean,
  ): Promise<T> {
    const attempt = async (count: number): Promise<T> => {
      if (count > 0) await this.awaitEarlierWrites();
      return await run(count);
    };
    return await retrying(this.#parts, work, attempt, isPassing);
  }

  /**
   * Runs writes that need not each be acknowledged by a majority: when it resolves, a majority has all of them.
   * @param run - gets the write concern to write with.
   */
  async together<T>(run: (concern: WriteConcernSettings) => Promise<T>): Promise<T> {
    const { deployment, signal } = this.#parts;
    return await acknowledgedTogether(deployment, signal, run);
  }

  /** Waits until everything sent before, by any process of this instance, has ended: see {@link awaitEarlierWrites}. */
  async awaitEarlierWrites(): Promise<void> {
    await awaitEarlierWrites({ ...this.#parts, destination: this.#parts.deployment });
  }

  /** Waits until nothing that other instances have sent as coordinators can arrive: see {@link awaitConnectionsOf}. */
  async awaitFormerCoordinators(former: FormerCoordinators): Promise<void> {
    await awaitConnectionsOf(former, this.#parts, this.#parts.deployment);
  }

  /** As {@link awaitEarlierWrites}; in addition, no election takes back what it has seen. */
  async settleEarlierWrites(): Promise<void> {
    const { deployment, signal } = this.#parts;
    await underOnePrimary(deployment, signal, async () => {
      await this.awaitEarlierWrites();
    });
  }

  /** How many collections and partitions to copy side by side if no option says so: see {@link fittingCopyWorkers}. */
  async fittingCopyWorkers(): Promise<number> {
    const { deployment, signal } = this.#parts;
    return await retrying(this.#parts, 'copy', async () => {
      return await fittingCopyWorkers(deployment, signal);
    });
  }

  /** A cluster time of the destination, later than everything written before: a majority has it. */
  async timeNow(): Promise<Timestamp> {
    return await writeNoop(this.#parts.deployment, 'writable', this.#parts.signal);
  }

  /** Resolves when a majority has acknowledged a write that was sent after the call. */
  async proveMajority(): Promise<void> {
    const noop = {
      appendOplogNote: 1,
      data: { clustersync: 'majority' },
      writeConcern: { w: 'majority' },
    };
    const { deployment, signal } = this.#parts;
    await runCommand(deployment.admin, noop, { signal, deadlineMs: 'none' });
  }
}

/** Enough for a server of any size; each holds batches of up to 16 MiB in memory. */
const defaultCopyWorkers = 4;

/**
 * How many partitions and collections to copy side by side if no option says so. On a destination with fewer cores than
 * writers, the writers spend the cores on waiting for each other: one with two cores took 1.2 times as long with four writers
 * as with two (decision 0016).
 */
export async function fittingCopyWorkers(
  { admin }: ClusterClient,
  signal: AbortSignal,
): Promise<number> {
  try {
    const answer = await runCommand(admin, { hostInfo: 1 }, { signal });
    const cores = answer.optional('system')?.optional('numCores')?.count();
    return cores === undefined
      ? defaultCopyWorkers
      : Math.min(defaultCopyWorkers, Math.max(2, cores));
  } catch (error) {
    // Custom roles may lack the privilege.
    if (codeOf(error) === serverCode.unauthorized) return defaultCopyWorkers;
    throw error;
  }
}
