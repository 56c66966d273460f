import { Double, type Timestamp } from 'mongodb';
import { latestWriteTime, majorityTime, writeNoop } from '../../mongo/cluster-time.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import type { NamespaceFilter } from '../../mongo/namespace-filter.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { hasFeature, hasOption } from '../../mongo/server-features.ts';
import { retrying } from '../../mongo/retrying.ts';
import type { Logger } from '../../service/logger.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import { requireNoAppliedOps } from './applied-ops.ts';
import {
  readChanges,
  type ChangeBatch,
  type ReadSettings,
  type StreamStart,
} from './change-reader.ts';
import { warnOfQuerySettings } from './query-settings.ts';
import { ShardedSourceKind } from './sharded-source.ts';
import { SourceCatalog } from './source-catalog.ts';
import { SourceDocuments } from './source-documents.ts';
import { replicaSetSource, type SourceKind } from './source-kind.ts';

/** The parts of a sync's source. */
export interface SourceParts {
  readonly deployment: Deployment;
  /** Of its servers. */
  readonly version: string;
  /** Of those of the destination. */
  readonly destinationVersion: string;
  readonly options: StartOptions;
  /** What is selected. */
  readonly filter: NamespaceFilter;
  /** What the sync knows of the source's collections. */
  readonly catalog: TrackedCatalog;
  /** Holds the latest known times of the source, and counts what is read. */
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  /** Adds a warning to the progress. */
  readonly warn: (warning: string) => Promise<void>;
  /** Aborts when the work is to stop. */
  readonly signal: AbortSignal;
}

/**
 * The source of a sync: all reads of it go through here. Made once for the work on a sync in one direction.
 *
 * Every read is acknowledged by a majority, and not older than anything known of the source, whichever member or router
 * answers. A method fails if the source cannot answer now; {@link ask} retries.
 */
export class Source {
  readonly catalog: SourceCatalog;
  readonly documents: SourceDocuments;
  /** The differences between a replica set and a sharded cluster. */
  readonly kind: SourceKind;
  readonly #parts: SourceParts;

  constructor(parts: SourceParts) {
    const { deployment, options, catalog, monitor, warn, signal } = parts;
    this.#parts = parts;
    this.kind = deployment.isSharded
      ? new ShardedSourceKind(deployment, catalog, monitor, signal)
      : replicaSetSource(deployment, options, warn, signal);
    const { kind } = this;
    this.catalog = new SourceCatalog({ ...parts, kind, known: monitor });
    this.documents = new SourceDocuments({ ...parts, kind, names: this.catalog, known: monitor });
  }

  /** The same source, for work that a narrower signal ends. */
  within(signal: AbortSignal): Source {
    return new Source({ ...this.#parts, signal });
  }

  /** Whether the destination's servers take a known option of a collection of the source. */
  isOptionOfDestination(option: string): boolean {
    return hasOption(this.#parts.destinationVersion, option);
  }

  /** Whether a namespace is selected by the filter of the sync. */
  async selects(namespace: Namespace): Promise<boolean> {
    return await this.#parts.filter.selects(namespace);
  }

  /**
   * Retries until there is an answer, or an error that is not temporary.
   * @param work - its purpose, for the log, the warnings and the metrics.
   * @param isPassing - which errors to retry after, however many there were.
   */
  async ask<T>(
    work: string,
    run: () => Promise<T>,
    isPassing?: (error: unknown) => boolean,
  ): Promise<T> {
    return await retrying(this.#parts, work, run, isPassing);
  }

  /** Reads change events, endlessly: see {@link readChanges}. */
  changes(start: StreamStart, settings: ReadSettings): AsyncGenerator<ChangeBatch, never> {
    const { kind, documents } = this;
    return readChanges({ ...this.#parts, kind, documents }, start, settings);
  }

  /** The size of a capped collection that the source stores when a collMod gives this one. */
  cappedSize(given: unknown): unknown {
    if (hasFeature(this.#parts.version, 'exactCappedSizes')) return given;
    const unitBytes = 256;
    return new Double(Math.ceil(Number(given) / unitBytes) * unitBytes);
  }

  /** Names what applies to all of the source, and is not copied: see {@link warnOfQuerySettings}. */
  async warnOfQuerySettings(): Promise<void> {
    await warnOfQuerySettings(this.#parts);
  }

  /** A cluster time that a majority has: everything acknowledged so far is at or before it. */
  async majorityTime(): Promise<Timestamp> {
    return await majorityTime(this.#parts.deployment, this.#parts.signal);
  }

  /** The cluster time of the latest write. */
  async latestWriteTime(): Promise<Timestamp> {
    return await latestWriteTime(this.#parts.deployment, this.#parts.signal);
  }

  /**
   * Writes a no-op, and returns its cluster time once a majority has it: everything acknowledged before is at or before it.
   * @param purpose - the text for the oplog.
   */
  async writeNoop(purpose: string): Promise<Timestamp> {
    return await writeNoop(this.#parts.deployment, purpose, this.#parts.signal);
  }

  /**
   * Makes sure that nobody has written past the change streams: see {@link requireNoAppliedOps}. Not for a source whose oplog
   * cannot be read.
   */
  async requireNoAppliedOps(startTime: Timestamp, to: Timestamp): Promise<void> {
    const { deployment: source, ...parts } = this.#parts;
    await requireNoAppliedOps({ ...parts, source }, startTime, to);
  }
}
