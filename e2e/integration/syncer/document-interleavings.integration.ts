import assert from 'node:assert/strict';
import type { AnyBulkWriteOperation, Document, Timestamp, UUID } from 'mongodb';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { writeNoop } from '../../../mongo/cluster-time.ts';
import { deploymentOf, type Deployment } from '../../../mongo/deployment.ts';
import { decodeElement } from '../../../mongo/raw-value.ts';
import { forEachConcurrently } from '../../../service/concurrency.ts';
import { inGroupsOf } from '../../../service/groups.ts';
import { createLogger } from '../../../service/logger.ts';
import { ChangeApplier } from '../../../syncer/changes/apply-changes.ts';
import { RangeCopier } from '../../../syncer/copy/copy-range.ts';
import { Destination } from '../../../syncer/destination/destination.ts';
import type { WorkPace } from '../../../syncer/limits/pace.ts';
import { SyncMonitor } from '../../../syncer/monitor/monitor.ts';
import { parseStartBody } from '../../../syncer/options/command-bodies.ts';
import { requestedConcurrency } from '../../../syncer/options/copy-concurrency.ts';
import { parseChangeEvent, type DocumentChange } from '../../../syncer/source/change-event.ts';
import { Source } from '../../../syncer/source/source.ts';
import type { TrackedCollection } from '../../../syncer/store/records.ts';
import type { SyncStore } from '../../../syncer/store/store.ts';
import { TrackedCatalog } from '../../../syncer/store/tracked-catalog.ts';
import {
  documentInterleavings,
  type Interleaving,
  type SourceWrite,
  type Step,
} from '../../model/document-interleavings.ts';
import { forward, useClusterPair, type ClusterPair } from './cluster-pair.ts';

const namespace = { db: 'shop', coll: 'items' };

/** Everything that a document may live through within these bounds. */
const bounds = { steps: 8, writes: 4, copies: 2, kills: 2 };

/** So many changes are applied together, in turn: few of a kind are sent in another way than many. */
const batchSizes = [1, 5, 40, 400];

/** How many batches are applied at a time. */
const batchesUnderWay = 8;

/** What happens to one document: its `_id` says it. */
interface Life extends Interleaving {
  readonly id: string;
  /** The changes that were read, in order. */
  readonly changes: DocumentChange[];
  writes: number;
  applied: number;
}

interface StoredDocument extends Document {
  readonly _id: string;
}

describe('one document, in every order of writes, copy, events and kills', () => {
  const pair = useClusterPair();

  it('is the same on both sides in the end', async () => {
    await pair.reset();
    const lives = livesOf(documentInterleavings(bounds));
    await using product = await Product.start(pair, lives);
    for (let at = 0; at < bounds.steps; at++) {
      await product.write(lives, at);
      await product.copy(lives, at);
      kill(lives, at);
      await product.apply(lives, at);
    }
    await pair.assertEqual();
    const steps = lives.flatMap((life) => life.steps);
    const toApply = steps.map((step) => (step.kind === 'apply' ? step.events : 0));
    assert.equal(
      product.appliedCount,
      toApply.reduce((sum, events) => sum + events),
    );
    for (const { id, changes, writes, applied } of lives)
      assert.deepEqual([changes.length, applied], [writes, writes], id);
  });
});

/** The documents, in the order of `_id`: those that are copied at the same steps follow one another. */
function livesOf(interleavings: readonly Interleaving[]): readonly Life[] {
  return interleavings.map((interleaving, number): Life => {
    const words = interleaving.steps.map(wordOf).join(' ');
    const before = interleaving.existsBefore ? 'there' : 'not there';
    const id = `${copyClassOf(interleaving)} ${number}: ${before}, ${words}`;
    return { ...interleaving, id, changes: [], writes: 0, applied: 0 };
  });
}

function wordOf(step: Step): string {
  switch (step.kind) {
    case 'write':
      return step.write;
    case 'copy':
      return 'copy';
    case 'apply':
      return `apply${step.events}`;
    case 'kill':
      return `kill${step.forgottenEvents}`;
  }
}

/** The steps at which a document is copied. */
function copyClassOf({ steps }: Interleaving): string {
  return steps.flatMap(({ kind }, at) => (kind === 'copy' ? [at] : [])).join('+');
}

/** Carries out the kills of a step: what was applied after the checkpoint is applied again. */
function kill(lives: readonly Life[], at: number): void {
  for (const life of lives) {
    const step = life.steps[at];
    if (step?.kind === 'kill') life.applied -= step.forgottenEvents;
  }
}

/** The operation that makes the write with a number: no two of a document are the same. */
function operationOf(
  _id: string,
  write: SourceWrite,
  number: number,
): AnyBulkWriteOperation<StoredDocument> {
  switch (write) {
    case 'insert':
      return { insertOne: { document: { _id, inserted: number, list: [number] } } };
    case 'replace':
      return {
        replaceOne: { filter: { _id }, replacement: { list: [number, number], replaced: number } },
      };
    case 'delete':
      return { deleteOne: { filter: { _id } } };
    case 'update': {
      const list = { $each: [number], $slice: -2 };
      const update: Document =
        number % 2 === 0
          ? { $set: { [`field${number}`]: number }, $inc: { count: 1 } }
          : { $unset: { [`field${number - 1}`]: '', inserted: '' }, $set: { 'nested.of': number } };
      return { updateOne: { filter: { _id }, update: { ...update, $push: { list } } as never } };
    }
  }
}

/** The parts of the product that read, copy and apply, between two replica sets. The interleavings say when each does. */
class Product implements AsyncDisposable {
  readonly #pair: ClusterPair;
  readonly #lives: ReadonlyMap<string, Life>;
  readonly #parts: ProductParts;
  readonly #batches: ReturnType<Source['changes']>;

  private constructor(pair: ClusterPair, lives: readonly Life[], parts: ProductParts) {
    this.#pair = pair;
    this.#lives = new Map(lives.map((life) => [life.id, life]));
    this.#parts = parts;
    this.#batches = parts.source.changes({ at: parts.startTime }, { match: undefined });
  }

  /** Stores the documents that exist before, and reads change events from there on. */
  static async start(pair: ClusterPair, lives: readonly Life[]): Promise<Product> {
    const documents = lives
      .filter(({ existsBefore }) => existsBefore)
      .map(({ id }): StoredDocument => ({ _id: id, list: [0], before: true }));
    for (const { client } of [pair.source, pair.destination])
      await client.db(namespace.db).createCollection(namespace.coll);
    for (const group of inGroupsOf(documents, 1_000))
      await pair.source.client
        .db(namespace.db)
        .collection<StoredDocument>(namespace.coll)
        .insertMany([...group]);
    return new Product(pair, lives, await partsBetween(pair));
  }

  get appliedCount(): number {
    return this.#parts.monitor.eventsApplied;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.stack.disposeAsync();
  }

  /** The source's writes of a step, and their events. */
  async write(lives: readonly Life[], at: number): Promise<void> {
    const operations = lives.flatMap((life) => {
      const step = life.steps[at];
      return step?.kind === 'write' ? [operationOf(life.id, step.write, ++life.writes)] : [];
    });
    const items = this.#pair.source.client
      .db(namespace.db)
      .collection<StoredDocument>(namespace.coll);
    for (const group of inGroupsOf(operations, 1_000))
      await items.bulkWrite([...group], { ordered: false });
    for (let missing = operations.length; missing > 0;) {
      const { value } = await this.#batches.next();
      for (const raw of value.events) {
        const event = parseChangeEvent(raw);
        if (event.type !== 'document') continue;
        const life = this.#lives.get(String(decodeElement(event.change.key.id)));
        assert.ok(life);
        life.changes.push(event.change);
        missing--;
      }
    }
  }

  /** The copies of a step: of each range of documents that are copied at this step. */
  async copy(lives: readonly Life[], at: number): Promise<void> {
    const { copier, collection } = this.#parts;
    const classes = new Set(
      lives.filter(({ steps }) => steps[at]?.kind === 'copy').map((life) => copyClassOf(life)),
    );
    for (const name of classes) {
      const range = { min: { _id: `${name} ` }, max: { _id: `${name}!` } };
      const isRepeated = !name.startsWith(String(at));
      await copier.copyRange(collection, range, { isRepeated });
    }
  }

  /** Applies the events of a step, many batches at a time, of many documents each. */
  async apply(lives: readonly Life[], at: number): Promise<void> {
    const { applier, collection } = this.#parts;
    const changes = lives.flatMap((life) => {
      const step = life.steps[at];
      if (step?.kind !== 'apply') return [];
      const from = life.applied;
      life.applied += step.events;
      return [life.changes.slice(from, life.applied)];
    });
    await forEachConcurrently(batchesOf(changes), batchesUnderWay, async (batch) => {
      await applier.apply(collection, batch);
    });
  }
}

/** Batches of the changes of documents, each of them as a whole in one. */
function batchesOf(ofDocuments: readonly (readonly DocumentChange[])[]): DocumentChange[][] {
  const batches: DocumentChange[][] = [];
  for (let from = 0; from < ofDocuments.length;) {
    const size = batchSizes[batches.length % batchSizes.length] ?? 1;
    batches.push(ofDocuments.slice(from, from + size).flat());
    from += size;
  }
  return batches;
}

interface ProductParts {
  readonly monitor: SyncMonitor;
  readonly source: Source;
  readonly startTime: Timestamp;
  readonly copier: RangeCopier;
  readonly applier: ChangeApplier;
  readonly collection: TrackedCollection;
  /** Closes the connections. */
  readonly stack: AsyncDisposableStack;
}

async function partsBetween(pair: ClusterPair): Promise<ProductParts> {
  await using stack = new AsyncDisposableStack();
  const stop = new AbortController();
  const deploymentOn = (option: 'cluster0' | 'cluster1', uri: string): Deployment => {
    const client = createClusterClient({ uri, option, appName: 'clustersync syncer syncer' });
    stack.use(client);
    return deploymentOf(client, { kind: 'replicaSet', shards: [] });
  };
  const [info] = await pair.source.client.db(namespace.db).listCollections().toArray();
  const { uuid } = (info as unknown as { readonly info: { readonly uuid: UUID } }).info;
  const deployment = deploymentOn('cluster0', pair.source.set.uri('syncer'));
  const startTime = await writeNoop(deployment, 'start', stop.signal);
  const collection = {
    ...{ uuid, namespace, options: {}, indexes: [], shardKey: null, replacedUuid: null },
    ...{ namedAt: startTime, namedBy: startTime, specifiedAt: startTime },
    ...{ sizeBytes: 0, documentCount: 0, isAdopted: false, isCopied: false },
  } as unknown as TrackedCollection;
  const store = {
    readCollections: async () => await Promise.resolve([collection]),
    readViews: async () => await Promise.resolve([]),
  };
  const monitor = new SyncMonitor();
  const working = {
    ...{ monitor, logger: createLogger('syncer', 'error'), signal: stop.signal },
    ...{
      options: parseStartBody(forward),
      warn: async () => {
        await Promise.resolve();
      },
    },
  };
  const source = new Source({
    ...working,
    ...{ version: '7.0.0', destinationVersion: '7.0.0', filter: undefined as never },
    catalog: await TrackedCatalog.load(store as unknown as SyncStore, () => undefined),
    deployment,
  });
  const destination = new Destination({
    ...{ ...working, requireLease: () => undefined, leftIndexes: undefined as never },
    deployment: deploymentOn('cluster1', pair.destination.set.uri('syncer')),
  });
  const pace = {
    ...{ concurrentBatches: Infinity, fetch: { count: 100, bytes: Infinity } },
    copy: async () => {
      await Promise.resolve();
    },
  };
  const copier = new RangeCopier(source, destination, {
    ...{ ...working, comparison: () => 'bytes', concurrency: requestedConcurrency(2, 2) },
    pace: pace as unknown as WorkPace,
  });
  const applier = new ChangeApplier(source, destination, monitor, working.logger);
  stack.defer(() => {
    stop.abort(new Error('the test has ended'));
  });
  return { monitor, source, startTime, copier, applier, collection, stack: stack.move() };
}
