import { Ajv, type AnySchema, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { isSameNamespace, type Namespace, namespaceText } from '../../mongo/namespace.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import type { Topology } from '../../mongo/topology.ts';
import { SyncError } from '../../service/errors.ts';
import { redact } from '../../service/redact.ts';
import type { Limits, StartBody } from '../../sync-api/json.ts';
import type { DefaultedOptions } from '../../sync-api/start-options.ts';

/** `sharding` of a start body (contract 2.4). */
export interface ShardingOptions {
  readonly createSupportingIndexes: boolean;
  readonly shardingEntries: readonly ShardingEntry[];
}

/** A collection to shard on the destination. */
export interface ShardingEntry {
  readonly database: string;
  readonly collection: string;
  readonly shardCollection: { readonly key: readonly Readonly<Record<string, number | string>>[] };
}

/** The collection that an entry is about. */
export function namespaceOf({ database, collection }: ShardingEntry): Namespace {
  return { db: database, coll: collection };
}

/**
 * The shard key of an entry.
 * @throws SyncError InvalidShardKey for a key that no server accepts.
 */
export function shardKeyOf(entry: ShardingEntry): ShardKey {
  const key = entry.shardCollection.key.flatMap((part) =>
    Object.entries(part).map(([field, kind]) => {
      if (kind === 1 || kind === 'hashed') return { field, kind } as const;
      throw invalid(entry, `${field} is 1 or "hashed" in a shard key, not ${JSON.stringify(kind)}`);
    }),
  );
  if (key.filter(({ kind }) => kind === 'hashed').length > 1)
    throw invalid(entry, 'only one field of a shard key can be hashed');
  if (new Set(key.map(({ field }) => field)).size < key.length)
    throw invalid(entry, 'a field is in the shard key twice');
  return key;
}

/** The requested shard key of a namespace; undefined if there is none. */
export function requestedShardKey(
  sharding: ShardingOptions | undefined,
  namespace: Namespace,
): ShardKey | undefined {
  const entry = sharding?.shardingEntries.find((each) =>
    isSameNamespace(namespaceOf(each), namespace),
  );
  return entry && shardKeyOf(entry);
}

/** @throws SyncError InvalidShardKey for a key that no server accepts, or a collection that is named twice. */
export function checkEntries({ shardingEntries }: ShardingOptions): void {
  const seen = new Set<string>();
  for (const entry of shardingEntries) {
    shardKeyOf(entry);
    const name = namespaceText(namespaceOf(entry));
    if (seen.has(name)) throw invalid(entry, 'the collection is listed twice');
    seen.add(name);
  }
}

function invalid(entry: ShardingEntry, problem: string): SyncError {
  return new SyncError(
    'InvalidShardKey',
    `sharding of ${namespaceText(namespaceOf(entry))}: ${problem}`,
  );
}

import { isTimeZone } from './limit-schedule.ts';
import schema from '../../sync-api/start-body.schema.json' with { type: 'json' };

/** Name of a cluster in the start body: the option that holds its connection string. */
export type ClusterName = 'cluster0' | 'cluster1';

const clusterNames = ['cluster0', 'cluster1'] as const satisfies ClusterName[];

/** A checked start body, with its defaults filled in. */
export interface StartOptions
  extends
    Omit<StartBody, keyof DefaultedOptions | 'initialData' | 'sharding' | 'limits'>,
    DefaultedOptions {
  readonly source: ClusterName;
  readonly destination: ClusterName;
  readonly sharding?: ShardingOptions;
  /** Whether the destination has a copy of the data already, such as a restored backup: none by default. */
  readonly initialData?: 'Present';
}

/** What the schema guarantees: it accepts any text for the name of a cluster, which has its own error. */
type BodyBySchema = Omit<StartOptions, 'source' | 'destination' | 'initialData'> &
  Readonly<Record<'source' | 'destination', string>> & {
    readonly initialData?: 'Absent' | 'Present';
    readonly limits?: Limits;
  };

const checks: Options = {
  ...{ useDefaults: true, allowUnionTypes: true, strictRequired: false },
  keywords: ['x-flag'],
};

const limitsSchema = { ...schema.definitions.limits, definitions: schema.definitions };

/** Ends at the first error: the cost of gathering all of them grows with the square of their number (ajv 8.20). */
const firstError = compiledWhenUsed<BodyBySchema>(schema, checks);

/** Reports everything that is wrong with a body of few values, so that a person does not have to retry for each. */
const everyError = compiledWhenUsed<BodyBySchema>(schema, { ...checks, allErrors: true });
const fewValues = 1_000;

const firstErrorOfLimits = compiledWhenUsed<Limits>(limitsSchema, checks);

/** Compiling the schema is a fifth of the CPU time of a syncer's start, and a process that continues a sync needs no schema. */
function compiledWhenUsed<T>(ofBody: AnySchema, options: Options): () => ValidateFunction<T> {
  let compiled: ValidateFunction<T> | undefined;
  return () => (compiled ??= new Ajv(options).compile<T>(ofBody));
}

/** A checked body of POST /start. */
export interface StartRequest {
  readonly options: StartOptions;
  /** They are kept apart from what identifies the sync. */
  readonly limits: Limits;
}

/** The options in the body of POST /start: see {@link parseStart}. */
export function parseStartBody(body: unknown): StartOptions {
  return parseStart(body).options;
}

/**
 * Checks the body of POST /limits, which replaces all limits.
 * @throws SyncError InvalidBody.
 */
export function parseLimits(body: unknown): Limits {
  return checkedSchedule(parseStoredLimits(body));
}

/**
 * Checks limits that were accepted before, maybe on a system that knows other time zones.
 * @throws SyncError InvalidBody.
 */
export function parseStoredLimits(found: unknown): Limits {
  const copy: unknown = structuredClone(found);
  const validate = firstErrorOfLimits();
  if (!validate(copy)) throw schemaError(validate.errors ?? []);
  return copy;
}

/** @throws SyncError InvalidBody for a time zone that there is none of. */
function checkedSchedule(limits: Limits): Limits {
  const unknown = limits.schedule?.find(({ timeZone = 'UTC' }) => !isTimeZone(timeZone));
  if (unknown === undefined) return limits;
  throw new SyncError(
    'InvalidBody',
    `limits: ${JSON.stringify(unknown.timeZone)} is not a time zone of the IANA, such as Europe/Berlin`,
  );
}

/**
 * Checks the body of POST /start by its schema and by the rules that need nothing else.
 * @throws SyncError InvalidBody, InvalidNamespaceFilter, InvalidShardKey, UnknownCluster, NeverWithReversible or
 * ReversibleNeedsWriteBlocking.
 */
export function parseStart(body: unknown): StartRequest {
  const copy: unknown = structuredClone(body);
  const validate = firstError();
  if (!validate(copy)) {
    const isShort = valuesIn(copy, fewValues) < fewValues;
    const validateAll = everyError();
    const { errors } = isShort && !validateAll(copy) ? validateAll : validate;
    throw schemaError(errors ?? []);
  }
  const source = clusterNameIn(copy, 'source');
  const { initialData, limits = {}, ...given } = copy;
  const options: StartOptions = {
    ...given,
    source,
    destination: clusterNameIn(copy, 'destination'),
    // Written out or not, Absent is the same start.
    ...(initialData === 'Present' && { initialData }),
  };
  if (options.source === options.destination) {
    throw new SyncError('UnknownCluster', `source and destination are both ${options.source}`);
  }
  if (options.sharding) checkEntries(options.sharding);
  if (options.reversible) {
    if (options.buildIndexes === 'never') {
      throw new SyncError(
        'NeverWithReversible',
        'a sync with buildIndexes never cannot be reversible',
      );
    }
    if (!options.enableUserWriteBlocking) {
      throw new SyncError(
        'ReversibleNeedsWriteBlocking',
        'reversible needs enableUserWriteBlocking: true',
      );
    }
  }
  return { options, limits: checkedSchedule(limits) };
}

function clusterNameIn(body: BodyBySchema, field: 'source' | 'destination'): ClusterName {
  const found = clusterNames.find((name) => name === body[field]);
  if (found !== undefined) return found;
  throw new SyncError(
    'UnknownCluster',
    `${field} is cluster0 or cluster1, not ${JSON.stringify(body[field])}`,
  );
}

/**
 * Checks `sharding` and `reversible` against the deployments (contract 4.1).
 * @returns each SyncError ShardingRequired, ShardingNotAllowed and ReversibleNotSupported, the most important first.
 */
export function topologyErrors(
  { sharding, reversible }: Pick<StartOptions, 'sharding' | 'reversible'>,
  source: Pick<Topology, 'kind' | 'shards'>,
  destination: Pick<Topology, 'kind' | 'shards'>,
): SyncError[] {
  const errors: SyncError[] = [];
  const intoSharded = source.kind === 'replicaSet' && destination.kind === 'sharded';
  if (intoSharded && sharding === undefined)
    errors.push(
      new SyncError(
        'ShardingRequired',
        'the destination is a sharded cluster, but sharding is absent',
      ),
    );
  if (!intoSharded && sharding !== undefined)
    errors.push(
      new SyncError(
        'ShardingNotAllowed',
        'sharding applies only to a sync from a replica set to a sharded cluster',
      ),
    );
  const [from, to] = [source.shards.length, destination.shards.length];
  if (reversible && intoSharded)
    errors.push(
      new SyncError(
        'ReversibleNotSupported',
        'a sync from a replica set to a sharded cluster cannot be reversed',
      ),
    );
  else if (reversible && source.kind === 'sharded' && destination.kind === 'replicaSet')
    errors.push(
      new SyncError(
        'ReversibleNotSupported',
        'a sync from a sharded cluster to a replica set cannot be reversed: the replica set does not have the shard keys that writes to the sharded cluster would need',
      ),
    );
  else if (reversible && from !== to)
    errors.push(
      new SyncError(
        'ReversibleNotSupported',
        `the source has ${from} shards and the destination ${to}: the numbers must be equal`,
      ),
    );
  return errors;
}

/** The number of values in a JSON value; counts up to `most`. */
function valuesIn(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  for (const name in value) {
    if (count >= most) break;
    count += valuesIn((value as Readonly<Record<string, unknown>>)[name], most - count);
  }
  return count;
}

function schemaError(errors: readonly ErrorObject[]): SyncError {
  const describe = ({ instancePath, message, params }: ErrorObject): string => {
    const field =
      'additionalProperty' in params
        ? `${instancePath}/${String(params['additionalProperty'])}`
        : instancePath;
    // Redact before changing names: afterwards a connection string would no longer be recognized.
    const name = redact(field).slice(1).replaceAll('/', '.');
    return `${name === '' ? 'the body' : name} ${message ?? 'is wrong'}`;
  };
  const isFilter = errors.every(({ instancePath }) =>
    /^\/(include|exclude)Namespaces/.test(instancePath),
  );
  const description = [...new Set(errors.map(describe))].slice(0, 5).join('; ');
  return new SyncError(isFilter ? 'InvalidNamespaceFilter' : 'InvalidBody', description);
}

/**
 * What the end of a sync leaves on the destination. Keep: everything as it is. Unblock: users may write again if the sync
 * blocked them. Clean: the same, and drops everything that the sync has made.
 */
export const resetDestinations = ['Keep', 'Unblock', 'Clean'] as const;
export type ResetDestination = (typeof resetDestinations)[number];

/** How a repair compares documents: by hashes that the servers make, or byte for byte, for which all documents are read. */
export const comparisons = ['hashes', 'bytes'] as const;
export type Comparison = (typeof comparisons)[number];

/**
 * Reads the body of POST /reset: what to do with the destination, by default Keep.
 * @throws SyncError InvalidBody.
 */
export function parseResetBody(body: unknown): ResetDestination {
  return choiceIn(body, 'destination', resetDestinations);
}

/**
 * Reads the body of POST /repair: how to compare, by default by hashes.
 * @throws SyncError InvalidBody.
 */
export function parseRepairBody(body: unknown): Comparison {
  return choiceIn(body, 'comparison', comparisons);
}

/** The only field of a body, one of some texts: the first is the default. */
function choiceIn<T extends string>(
  body: unknown,
  field: string,
  [first, ...more]: readonly [T, ...T[]],
): T {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new SyncError('InvalidBody', 'the body is a JSON object');
  const unknown = Object.keys(body).find((name) => name !== field);
  if (unknown !== undefined)
    throw new SyncError('InvalidBody', `${unknown} must NOT have additional properties`);
  const value: unknown = (body as Readonly<Record<string, unknown>>)[field] ?? first;
  const known = [first, ...more].find((name) => name === value);
  if (known === undefined)
    throw new SyncError(
      'InvalidBody',
      `${field} is one of ${[first, ...more].join(', ')}, not ${JSON.stringify(value)}`,
    );
  return known;
}
