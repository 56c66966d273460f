import { Ajv, type ErrorObject } from 'ajv';
import { SyncError } from '../../service/errors.ts';
import type { NamespaceFilterEntry } from '../../mongo/namespace-filter.ts';
import type { Topology } from '../../mongo/topology.ts';
import { checkEntries, type ShardingOptions } from './sharding-options.ts';
import schema from './start-body.schema.json' with { type: 'json' };

/** Name of a cluster in the start body: the option that holds its connection string. */
export type ClusterName = 'cluster0' | 'cluster1';

const clusterNames: ReadonlySet<string> = new Set<ClusterName>(['cluster0', 'cluster1']);

/** When indexes are built on the destination. */
export type BuildIndexes = 'beforeDataCopy' | 'afterDataCopy' | 'never';

/** A start body that was checked, with its defaults filled in. */
export interface StartOptions {
  readonly source: ClusterName;
  readonly destination: ClusterName;
  readonly buildIndexes: BuildIndexes;
  readonly enableUserWriteBlocking: boolean;
  readonly reversible: boolean;
  readonly includeNamespaces?: readonly NamespaceFilterEntry[];
  readonly excludeNamespaces?: readonly NamespaceFilterEntry[];
  readonly sharding?: ShardingOptions;
}

const validate = new Ajv({
  allErrors: true,
  useDefaults: true,
  allowUnionTypes: true,
  strictRequired: false,
}).compile(schema);

/**
 * Checks the body of POST /start by its schema and by the rules that need nothing else.
 * @throws SyncError InvalidBody, InvalidNamespaceFilter, InvalidShardKey, UnknownCluster, NeverWithReversible or
 * ReversibleNeedsWriteBlocking.
 */
export function parseStartBody(body: unknown): StartOptions {
  const copy = structuredClone(body);
  if (!validate(copy)) throw schemaError(validate.errors ?? []);
  const options = copy as unknown as StartOptions;
  for (const field of ['source', 'destination'] as const) {
    const name: string = options[field];
    if (!clusterNames.has(name)) {
      throw new SyncError(
        'UnknownCluster',
        `${field} is cluster0 or cluster1, not ${JSON.stringify(name)}`,
      );
    }
  }
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
  return options;
}

/**
 * Checks `sharding` and `reversible` against the deployments (contract 4.1).
 * @throws SyncError ShardingRequired, ShardingNotAllowed, ReversibleNotSupported or TopologyNotSupported.
 */
export function checkTopologies(
  { sharding, reversible }: Pick<StartOptions, 'sharding' | 'reversible'>,
  source: Pick<Topology, 'kind' | 'shards'>,
  destination: Pick<Topology, 'kind' | 'shards'>,
): void {
  const intoSharded = source.kind === 'replicaSet' && destination.kind === 'sharded';
  if (intoSharded && sharding === undefined) {
    throw new SyncError(
      'ShardingRequired',
      'the destination is a sharded cluster and sharding is absent',
    );
  }
  if (!intoSharded && sharding !== undefined) {
    throw new SyncError(
      'ShardingNotAllowed',
      'sharding is for a sync from a replica set to a sharded cluster only',
    );
  }
  if (source.kind === 'sharded' && destination.kind !== 'sharded') {
    throw new SyncError(
      'TopologyNotSupported',
      'the source is a sharded cluster and the destination a replica set',
    );
  }
  if (!reversible) return;
  if (intoSharded) {
    throw new SyncError(
      'ReversibleNotSupported',
      'a sync from a replica set to a sharded cluster cannot be reversed',
    );
  }
  const [from, to] = [source.shards.length, destination.shards.length];
  if (from !== to) {
    throw new SyncError(
      'ReversibleNotSupported',
      `the source has ${from} shards and the destination ${to}: the numbers must be the same`,
    );
  }
}

function schemaError(errors: readonly ErrorObject[]): SyncError {
  const describe = ({ instancePath, message, params }: ErrorObject): string => {
    const field =
      'additionalProperty' in params
        ? `${instancePath}/${String(params['additionalProperty'])}`
        : instancePath;
    return `${field === '' ? 'the body' : field.slice(1).replaceAll('/', '.')} ${message ?? 'is wrong'}`;
  };
  const isFilter = errors.every(({ instancePath }) =>
    /^\/(include|exclude)Namespaces/.test(instancePath),
  );
  const description = [...new Set(errors.map(describe))].slice(0, 5).join('; ');
  return new SyncError(isFilter ? 'InvalidNamespaceFilter' : 'InvalidBody', description);
}
