import { Counter, Gauge, type Registry } from 'prom-client';
import type { ClusterSync, ClusterSyncStatus } from './api/clustersync.ts';
import type { SyncVerification } from './api/sync-verification.ts';
import { findCondition, type Condition } from './kube/conditions.ts';
import type { KubeObject } from './kube/resource.ts';
import type { LatestStatuses } from './operand/latest-statuses.ts';
import type { ObjectLookup } from './operand/object-cache.ts';

/** The sources of the metrics of the custom resources. */
export interface ResourceMetricsSources {
  readonly clusterSyncs: ObjectLookup<ClusterSync>;
  /** Has newer statuses than the API. */
  readonly latest: LatestStatuses<ClusterSyncStatus>;
  readonly syncVerifications: ObjectLookup<SyncVerification>;
  /** Only the leader reports them, so that sums over all operators are right. */
  readonly isActive: () => boolean;
  /** Whether an object is known to be as it is in the cache: otherwise nothing is reported of it. */
  readonly isKnown: (object: KubeObject) => boolean;
}

/**
 * Adds the metrics of the custom resources to a registry. They are computed from the statuses at each scrape, so that the
 * series of a deleted object disappear with it.
 */
export function registerResourceMetrics(
  registry: Registry,
  { clusterSyncs, latest, syncVerifications, isActive, isKnown }: ResourceMetricsSources,
): void {
  const syncs = (): ClusterSync[] =>
    isActive()
      ? clusterSyncs
          .list()
          .filter(isKnown)
          .map((sync) => latest.newest(sync))
      : [];
  const verifications = (): SyncVerification[] =>
    isActive() ? syncVerifications.list().filter(isKnown) : [];
  const figure = (
    name: string,
    help: string,
    read: (status: NonNullable<ClusterSync['status']>) => number | undefined,
  ): void => {
    gauge(registry, name, help, [], () =>
      syncs().map(({ metadata, status }) => ({
        metadata,
        labels: {},
        value: status ? read(status) : undefined,
      })),
    );
  };
  figure(
    'clustersync_lag_seconds',
    'Seconds that the destination is behind the source.',
    ({ lagTimeSeconds }) => lagTimeSeconds,
  );
  figure(
    'clustersync_estimated_total_bytes',
    'Bytes to copy in the initial copy.',
    ({ totals }) => totals?.estimatedTotalBytes,
  );
  figure(
    'clustersync_estimated_copied_bytes',
    'Bytes copied in the initial copy.',
    ({ totals }) => totals?.estimatedCopiedBytes,
  );
  conditionGauge(registry, 'clustersync_condition', 'ClusterSync', syncs);
  reasonGauge(registry, 'clustersync_not_ready_reason', 'ClusterSync', syncs);
  gauge(
    registry,
    'clustersync_verification_mismatches',
    'Differences found by the current or last pass of a SyncVerification.',
    [],
    () =>
      verifications().map(({ metadata, status }) => ({
        metadata,
        labels: {},
        value: status?.mismatches?.total,
      })),
  );
  conditionGauge(registry, 'clustersync_verification_condition', 'SyncVerification', verifications);
  const reasonName = 'clustersync_verification_not_ready_reason';
  reasonGauge(registry, reasonName, 'SyncVerification', verifications);
}

/** The sources of the metrics of namespaces. */
export interface NamespaceMetricsSources {
  /** Those that were named, and whether each of them can be watched. */
  readonly named: () => ReadonlyMap<string, boolean>;
  /** Those with custom resources, and whether the operator owns each of them. */
  readonly owned: () => ReadonlyMap<string, boolean>;
}

/** Adds the metrics of namespaces. */
export function registerNamespaceMetrics(
  registry: Registry,
  { named, owned }: NamespaceMetricsSources,
): void {
  const flag = (name: string, help: string, read: () => ReadonlyMap<string, boolean>): void => {
    new Gauge({
      ...{ name, help, labelNames: ['namespace'], registers: [registry] },
      collect() {
        this.reset();
        for (const [namespace, isSo] of read()) this.set({ namespace }, isSo ? 1 : 0);
      },
    });
  };
  flag(
    'clustersync_operator_namespace_watched',
    'Whether the operator can watch a namespace of `watchNamespaces`: 1 or 0.',
    named,
  );
  flag(
    'clustersync_operator_namespace_owned',
    'Whether the operator may work in a namespace with custom resources: 0 if another operator does, or its Lease cannot be written.',
    owned,
  );
}

/** Counts changes by others to the operator's objects. */
export function correctionCounter(registry: Registry): Counter<'kind'> {
  return new Counter({
    name: 'clustersync_operator_corrections_total',
    help: 'Objects that the operator restored after someone else changed or deleted them.',
    labelNames: ['kind'],
    registers: [registry],
  });
}

interface Sample<L extends string> {
  readonly metadata: KubeObject['metadata'];
  readonly labels: Readonly<Record<L, string>>;
  /** Not reported when undefined. */
  readonly value: number | undefined;
}

type WithConditions = KubeObject & {
  readonly status?: { readonly conditions?: readonly Condition[] };
};

function conditionGauge(
  registry: Registry,
  name: string,
  kind: string,
  list: () => WithConditions[],
): void {
  const help = `Whether a condition of a ${kind} is True: 1 or 0. Absent while unknown.`;
  gauge(registry, name, help, ['condition'], () =>
    list().flatMap(({ metadata, status }) =>
      (status?.conditions ?? []).map(({ type, status: value }) => ({
        metadata,
        labels: { condition: type },
        value: value === 'Unknown' ? undefined : value === 'True' ? 1 : 0,
      })),
    ),
  );
}

function reasonGauge(
  registry: Registry,
  name: string,
  kind: string,
  list: () => WithConditions[],
): void {
  const help = `Why a ${kind} is not ready: 1 for the reason of its condition Ready, while that is False.`;
  gauge(registry, name, help, ['reason'], () =>
    list().flatMap(({ metadata, status }) => {
      const ready = findCondition(status?.conditions, 'Ready');
      if (ready?.status !== 'False') return [];
      return [{ metadata, labels: { reason: ready.reason }, value: 1 }];
    }),
  );
}

function gauge<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labels: readonly L[],
  samples: () => readonly Sample<L>[],
): void {
  new Gauge({
    name,
    help,
    labelNames: ['namespace', 'name', ...labels],
    registers: [registry],
    collect() {
      this.reset();
      for (const { metadata, labels: own, value } of samples()) {
        if (value === undefined) continue;
        this.set({ namespace: metadata.namespace ?? '', name: metadata.name, ...own }, value);
      }
    },
  });
}
