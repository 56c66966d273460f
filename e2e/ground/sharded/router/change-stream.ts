import { randomBytes } from 'node:crypto';
import { Long, Timestamp, type Document } from 'mongodb';
import { asError } from '../../../../service/errors.ts';
import {
  arrayDocuments,
  bsonType,
  elementsOf,
  RawWriter,
  stringValue,
  valueBytes,
  type RawDocument,
  type RawElement,
} from '../../../../mongo/raw-bson.ts';
import { sleep } from '../../../../service/sleep.ts';
import type { ClusterView } from './cluster-view.ts';
import { CommandFailure, failure, succeeded, withoutServerFields } from './command-failure.ts';
import type { CommandRequest, RouterState } from './router-state.ts';
import { decode, encode } from './wire.ts';

/** How long a getMore waits by default, and how long each getMore of a shard waits during that time. */
const defaultWaitMs = 1000;
const shardWaitMs = 100;

/** How long that is while events of other shards wait for it. */
const hastyWaitMs = 10;

/** Under the limit of an answer, which one more event of 16 MiB must not break. */
const maxBatchBytes = 15_000_000;

/** After every token of an event. */
const endOfTokens = 'G';

interface ShardEvent {
  /** The `_data` of its resume token: as text, tokens sort by time. */
  readonly token: string;
  readonly bytes: RawDocument;
}

/** The stream of one shard. */
interface Part {
  readonly shard: string;
  readonly address: string;
  readonly cursor: Long;
  readonly events: ShardEvent[];
  /** All events of the shard up to this token are known. */
  knownTo: string;
  /** The time up to which an idle shard was asked to bring its stream, so that it is asked once. */
  nudgedTo: string;
  fetching: Promise<void> | undefined;
}

/**
 * Opens a change stream: one stream of every shard, merged by resume token, because that of the inner router would end
 * its process. With `$_passthroughToShard`, the stream of that shard alone.
 */
export async function openChangeStream(
  state: RouterState,
  request: CommandRequest,
  command: Document,
): Promise<Document> {
  const { cluster } = state;
  const { signal } = request;
  const {
    $_passthroughToShard: passthrough,
    txnNumber: _number,
    lsid: _session,
    ...rest
  } = command;
  const [first, ...stages] = rest['pipeline'] as Document[];
  const options: Document = { ...(first?.['$changeStream'] as Document) };
  const onlyShard = (passthrough as { shard?: string } | undefined)?.shard;
  const shards = onlyShard === undefined ? [...(await cluster.shards(signal)).keys()] : [onlyShard];
  let after = '';
  if (onlyShard === undefined) {
    const token = (options['resumeAfter'] ?? options['startAfter']) as Document | undefined;
    if (token) {
      after = String(token['_data']);
      delete options['resumeAfter'];
      delete options['startAfter'];
      options['startAtOperationTime'] = timeOfToken(after);
    }
    options['startAtOperationTime'] ??= await nextClusterTime(cluster, shards, signal);
  }
  const open = {
    ...rest,
    pipeline: [{ $changeStream: options }, ...stages],
    cursor: { batchSize: 0 },
  };
  const results = await Promise.allSettled(
    shards.map(async (shard): Promise<Part & { readonly ns: string }> => {
      const address = await cluster.addressOf({ shard }, signal);
      const answer = succeeded(decode(await cluster.sendTo(address, encode(open), signal)));
      const cursor = answer['cursor'] as {
        id: Long;
        ns: string;
        postBatchResumeToken?: { _data: string };
      };
      const knownTo = cursor.postBatchResumeToken?._data ?? after;
      const { id, ns } = cursor;
      return {
        ...{ shard, address, cursor: id, ns, events: [], knownTo },
        ...{ nudgedTo: '', fetching: undefined },
      };
    }),
  );
  const parts = results.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
  const stream = new ChangeStream(state, request.db, parts[0]?.ns ?? '', parts, after);
  const rejected = results.find((result) => result.status === 'rejected');
  if (rejected) {
    await stream.close();
    throw rejected.reason;
  }
  state.streams.set(stream.id.toString(), stream);
  return {
    cursor: {
      firstBatch: [],
      id: stream.id,
      ns: stream.ns,
      postBatchResumeToken: { _data: stream.token },
    },
    ok: 1,
  };
}

/** A time after that of every write that has been acknowledged. */
async function nextClusterTime(
  cluster: ClusterView,
  shards: readonly string[],
  signal: AbortSignal,
): Promise<Timestamp> {
  let latest = new Timestamp({ t: 0, i: 0 });
  for (const shard of shards) {
    const answer = await cluster.run({ shard }, { hello: 1, $db: 'admin' }, signal);
    const { clusterTime } = answer['$clusterTime'] as { clusterTime: Timestamp };
    if (clusterTime.compare(latest) > 0) latest = clusterTime;
  }
  return new Timestamp({ t: latest.t, i: latest.i + 1 });
}

/** A token begins with the type byte of a timestamp and its eight bytes. */
function timeOfToken(token: string): Timestamp {
  return new Timestamp({
    t: parseInt(token.slice(2, 10), 16),
    i: parseInt(token.slice(10, 18), 16),
  });
}

/** An open change stream of a client. */
export class ChangeStream {
  readonly id = Long.fromBits(randomBytes(4).readInt32LE(), randomBytes(4).readInt32LE() | 1);
  readonly ns: string;
  readonly #state: RouterState;
  readonly #db: string;
  readonly #parts: readonly Part[];
  readonly #controller = new AbortController();
  #token: string;
  #error: Error | undefined;

  constructor(state: RouterState, db: string, ns: string, parts: readonly Part[], after: string) {
    this.#state = state;
    this.#db = db;
    this.ns = ns;
    this.#parts = parts;
    const known = this.#knownTo();
    this.#token = known > after ? known : after;
  }

  /** Where a client may resume. */
  get token(): string {
    return this.#token;
  }

  /** The answer to a getMore. */
  async more(command: Document, signal: AbortSignal): Promise<RawDocument> {
    const deadline = performance.now() + Number(command['maxTimeMS'] ?? defaultWaitMs);
    const maxEvents = Number(command['batchSize'] ?? 0) || Infinity;
    for (;;) {
      if (this.#error) {
        await this.close();
        throw this.#error;
      }
      const batch = this.#merge(maxEvents);
      const leftMs = deadline - performance.now();
      if (batch.length > 0 || leftMs <= 0) return await this.#answer(batch);
      await this.#nudgeIdleShards(signal);
      const isHasty = this.#parts.some(({ events }) => events.length > 0);
      const waitMs = Math.min(leftMs, isHasty ? hastyWaitMs : shardWaitMs);
      const fetches = this.#parts
        .filter(({ events }) => events.length === 0)
        .map((part) => (part.fetching ??= this.#fetch(part, waitMs)));
      const settled = new AbortController();
      const timer = sleep(leftMs, AbortSignal.any([signal, settled.signal]));
      try {
        await Promise.race([...fetches, timer]);
      } finally {
        settled.abort();
        await timer.catch(() => undefined);
      }
    }
  }

  /** Ends the stream and those of the shards. */
  async close(): Promise<void> {
    this.#state.streams.delete(this.id.toString());
    this.#controller.abort(failure('CursorNotFound', 'the change stream was closed'));
    await Promise.allSettled(
      this.#parts.map(async ({ address, cursor }) => {
        if (cursor.isZero()) return;
        const collection = this.ns.slice(this.ns.indexOf('.') + 1);
        const kill = { killCursors: collection, cursors: [cursor], $db: this.#db };
        await this.#state.cluster.sendTo(address, encode(kill), AbortSignal.timeout(10_000));
      }),
    );
  }

  /** What all shards have told everything up to. */
  #knownTo(): string {
    return this.#parts.reduce(
      (least, { knownTo }) => (knownTo < least ? knownTo : least),
      endOfTokens,
    );
  }

  /** Takes the next events in order, as far as no shard can still have an earlier one. */
  #merge(maxEvents: number): ShardEvent[] {
    const batch: ShardEvent[] = [];
    let bytes = 0;
    while (batch.length < maxEvents && bytes < maxBatchBytes) {
      const next = this.#next();
      if (next === undefined) break;
      batch.push(next);
      bytes += next.bytes.length;
      this.#token = next.token;
      if (operationOf(next.bytes) === 'invalidate') break;
    }
    const isDrained = this.#parts.every(({ events }) => events.length === 0);
    const known = this.#knownTo();
    if (isDrained && known > this.#token && known !== endOfTokens) this.#token = known;
    return batch;
  }

  #next(): ShardEvent | undefined {
    let earliest: Part | undefined;
    for (const part of this.#parts) {
      const [event] = part.events;
      const [other] = earliest?.events ?? [];
      if (event && (other === undefined || event.token < other.token)) earliest = part;
    }
    const token = earliest?.events[0]?.token;
    if (token === undefined) return undefined;
    const isNext = this.#parts.every(
      ({ events, knownTo }) => events.length > 0 || knownTo >= token,
    );
    return isNext ? earliest?.events.shift() : undefined;
  }

  /** Events wait for what an idle shard has to say of their time: it is made to write something. */
  async #nudgeIdleShards(signal: AbortSignal): Promise<void> {
    const [waiting] = this.#parts
      .flatMap(({ events }) => events.slice(0, 1).map(({ token }) => token))
      .sort();
    if (waiting === undefined) return;
    for (const part of this.#parts) {
      if (part.events.length > 0 || part.knownTo >= waiting || part.nudgedTo >= waiting) continue;
      part.nudgedTo = waiting;
      const data = { router: 'bring the change stream up to date' };
      const maxClusterTime = timeOfToken(waiting);
      const note = { appendOplogNote: 1, data, maxClusterTime, $db: 'admin' };
      await this.#state.cluster.sendTo(part.address, encode(note), signal);
    }
  }

  /** Never rejects: what goes wrong is kept for the next getMore. */
  async #fetch(part: Part, waitMs: number): Promise<void> {
    try {
      const collection = this.ns.slice(this.ns.indexOf('.') + 1);
      const maxTimeMS = Math.max(1, Math.round(waitMs));
      const getMore = { getMore: part.cursor, collection, maxTimeMS, $db: this.#db };
      const { cluster } = this.#state;
      const answer = await cluster.sendTo(part.address, encode(getMore), this.#controller.signal);
      this.#take(part, answer);
    } catch (error) {
      this.#error ??= asError(error);
    } finally {
      part.fetching = undefined;
    }
  }

  #take(part: Part, answer: RawDocument): void {
    const cursor = elementsOf(answer).find(({ name }) => name === 'cursor');
    if (cursor === undefined) {
      this.#error ??= new CommandFailure(withoutServerFields(decode(answer)));
      return;
    }
    const fields = new Map(elementsOf(valueBytes(cursor)).map((field) => [field.name, field]));
    const batch = fields.get('nextBatch');
    for (const bytes of batch ? arrayDocuments(batch) : []) {
      const token = tokenOf(elementsOf(bytes).find(({ name }) => name === '_id'));
      // Resuming starts at the time of a token, which other events may share.
      if (token > this.#token) part.events.push({ token, bytes });
    }
    const id = fields.get('id');
    const isEnd = id !== undefined && valueBytes(id).every((byte) => byte === 0);
    part.knownTo = isEnd ? endOfTokens : tokenOf(fields.get('postBatchResumeToken'));
  }

  async #answer(batch: readonly ShardEvent[]): Promise<RawDocument> {
    const last = batch.at(-1);
    const isEnd =
      (last !== undefined && operationOf(last.bytes) === 'invalidate') ||
      (last === undefined && this.#knownTo() === endOfTokens);
    if (isEnd) await this.close();
    const bytes = batch.reduce((total, event) => total + event.bytes.length, 0);
    const writer = new RawWriter(bytes + 1024).begin('cursor').beginArray('nextBatch');
    for (const [index, event] of batch.entries()) writer.document(String(index), event.bytes);
    writer.end();
    const rest = encode({
      postBatchResumeToken: { _data: this.#token },
      id: isEnd ? Long.ZERO : this.id,
      ns: this.ns,
    });
    for (const element of elementsOf(rest)) writer.value(element.name, element);
    return writer.end().int32('ok', 1).finish();
  }
}

function tokenOf(element: RawElement | undefined): string {
  const data =
    element?.type === bsonType.document
      ? elementsOf(valueBytes(element)).find(({ name }) => name === '_data')
      : undefined;
  if (data === undefined) throw new Error('an event or a batch without a resume token');
  return stringValue(data);
}

function operationOf(event: RawDocument): string {
  const type = elementsOf(event).find(({ name }) => name === 'operationType');
  return type === undefined ? '' : stringValue(type);
}
