import type { Timestamp } from 'mongodb';
import { latestWriteTime, majorityTime, writeNoop } from '../../mongo/cluster-time.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import type { NamespaceFilter } from '../../mongo/namespace-filter.ts';
import type { Namespace } from '../../mongo/namespace.ts';
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
import { ShardedSourceKind } from './sharded-source.ts';
import { SourceCatalog } from './source-catalog.ts';
import { SourceDocuments } from './source-documents.ts';
import { replicaSetSource, type SourceKind } from './source-kind.ts';

/** What the source of a sync is made of. */
export interface SourceParts {
  readonly deployment: Deployment;
  readonly options: StartOptions;
  /** What is selected. */
  readonly filter: NamespaceFilter;
  /** What the sync knows of the collections of the source. */
  readonly catalog: TrackedCatalog;
  /** Has how far the source is known to be, and is told what is read. */
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  /** Keeps a warning for the people who look at progress. */
  readonly warn: (warning: string) => Promise<void>;
  /** Aborted when the work is to stop. */
  readonly signal: AbortSignal;
}

/**
 * The source of a sync: every question to it. Made once for the work on a sync in one direction.
 *
 * What is read is acknowledged by a majority, and not older than anything that is known of the source, whichever member or router
 * answers. A question fails where the source cannot answer it now; {@link ask} asks again.
 */
export class Source {
  readonly catalog: SourceCatalog;
  readonly documents: SourceDocuments;
  /** What differs between a replica set and a sharded cluster. */
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

  /** Whether a namespace is selected by the filter of the sync. */
  async selects(namespace: Namespace): Promise<boolean> {
    return await this.#parts.filter.selects(namespace);
  }

  /**
   * Asks until there is an answer, or the source fails by what does not pass.
   * @param work - what for: for the log, the warnings and the metrics.
   * @param isPassing - which errors are followed by another attempt, however many there were.
   */
  async ask<T>(
    work: string,
    run: () => Promise<T>,
    isPassing?: (error: unknown) => boolean,
  ): Promise<T> {
    return await retrying(this.#parts, work, run, isPassing);
  }

  /** Reads change events, for ever: see {@link readChanges}. */
  changes(start: StreamStart, settings: ReadSettings): AsyncGenerator<ChangeBatch, never> {
    const { kind, documents } = this;
    return readChanges({ ...this.#parts, kind, documents }, start, settings);
  }

  /** A cluster time that a majority has: all that is acknowledged is not later. */
  async majorityTime(): Promise<Timestamp> {
    return await majorityTime(this.#parts.deployment, this.#parts.signal);
  }

  /** The cluster time of the latest write. */
  async latestWriteTime(): Promise<Timestamp> {
    return await latestWriteTime(this.#parts.deployment, this.#parts.signal);
  }

  /**
   * Writes a no-op, and gives its cluster time when a majority has it: whatever was acknowledged before is not later.
   * @param purpose - what it says in the oplog.
   */
  async writeNoop(purpose: string): Promise<Timestamp> {
    return await writeNoop(this.#parts.deployment, purpose, this.#parts.signal);
  }

  /**
   * Makes sure that nobody has written past the change streams: see {@link requireNoAppliedOps}. Not to be asked of a source
   * whose oplog cannot be read.
   */
  async requireNoAppliedOps(startTime: Timestamp, to: Timestamp): Promise<void> {
    const { deployment: source, ...parts } = this.#parts;
    await requireNoAppliedOps({ ...parts, source }, startTime, to);
  }
}
