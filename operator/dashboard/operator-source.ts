import type { PageScope } from '../../dashboard/api/messages.ts';
import type { EventView, EventsView, SyncSummary } from '../../dashboard/api/sync-view.ts';
import type { DashboardSource, SyncLook } from '../../dashboard/server/dashboard.ts';
import type { ClusterSync, ClusterSyncStatus } from '../api/clustersync.ts';
import type { SyncVerification } from '../api/sync-verification.ts';
import { listed } from '../clustersync/resources.ts';
import { events } from '../kube/builtin-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { lastSeen } from '../kube/event-time.ts';
import { objectKey, type KubeObject } from '../kube/resource.ts';
import { callOperand } from '../operand/http-api.ts';
import type { LatestStatuses } from '../operand/latest-statuses.ts';
import type { ObjectLookup } from '../operand/object-cache.ts';
import type { OperandStore } from '../operand/operand-store.ts';
import type { WatchedNamespaces } from '../operand/watched-namespaces.ts';
import { OperatorSyncLook } from './sync-look.ts';
import { summaryOf } from './sync-summary.ts';

/** The sources of an operator's dashboard. */
export interface OperatorSourceOptions {
  readonly client: KubeClient;
  readonly clusterSyncs: ObjectLookup<ClusterSync>;
  readonly syncVerifications: ObjectLookup<SyncVerification>;
  /** Has newer statuses than the API. */
  readonly latest: LatestStatuses<ClusterSyncStatus>;
  readonly store: OperandStore;
  /** The operator's namespaces; all if empty. */
  readonly namespaces: readonly string[];
  readonly watched: Pick<WatchedNamespaces, 'isKnown' | 'unwatched'>;
  /** Whether this operator is at work, and so knows the newest figures. */
  readonly isActive: () => boolean;
  /** Whether it is at work in a namespace: otherwise another operator may be, and only the API has the newest status. */
  readonly mayWork: (namespace: string) => boolean;
}

/** The number of events in a namespace is not limited otherwise. */
const maxEvents = 500;

const staleness = 'This operator is on standby: figures are as old as the status of each resource.';

/** Everything that the operator knows from its caches; for a single sync also what its pods and the API server report. */
export class OperatorSource implements DashboardSource {
  readonly #options: OperatorSourceOptions;

  constructor(options: OperatorSourceOptions) {
    this.#options = options;
  }

  page = (): PageScope => {
    const { namespaces, isActive, watched } = this.#options;
    const unwatched = watched.unwatched().join(', ');
    const others = isActive() ? this.#othersNamespaces() : [];
    const notes = [
      ...(isActive() ? [] : [staleness]),
      ...(others.length === 0
        ? []
        : [
            `This operator does not work in ${listed(others)}: figures there are as old as the status of each resource.`,
          ]),
      ...(unwatched === ''
        ? []
        : [`What is shown of ${unwatched} may be old: it is not watched now.`]),
    ];
    return {
      scope: namespaces.length === 0 ? 'all namespaces' : namespaces.join(', '),
      staleness: notes.length === 0 ? null : notes.join(' '),
    };
  };

  summaries = (): readonly SyncSummary[] => {
    const { clusterSyncs, syncVerifications } = this.#options;
    const verifications = Map.groupBy(syncVerifications.list().toSorted(byName), (each) =>
      objectKey({ namespace: each.metadata.namespace, name: each.spec.clusterSyncRef.name }),
    );
    return clusterSyncs
      .list()
      .map((sync) =>
        summaryOf(this.#newest(sync), verifications.get(objectKey(sync.metadata)) ?? []),
      );
  };

  look = (key: string): SyncLook => {
    const { clusterSyncs, syncVerifications, store, watched } = this.#options;
    return new OperatorSyncLook({
      isKnown: (namespace) => watched.isKnown(namespace),
      sync: () => {
        const sync = clusterSyncs.get(key);
        return sync && this.#newest(sync);
      },
      verifications: () =>
        syncVerifications
          .list()
          .filter(({ metadata: { namespace }, spec }) => {
            return objectKey({ namespace, name: spec.clusterSyncRef.name }) === key;
          })
          .toSorted(byName),
      store,
      call: callOperand,
      eventsOf: this.#eventsOf,
    });
  };

  /** What this operator has noted itself says nothing new once another one works there. */
  #newest(sync: ClusterSync): ClusterSync {
    const { latest, mayWork } = this.#options;
    return mayWork(sync.metadata.namespace ?? '') ? latest.newest(sync) : sync;
  }

  /** Those with syncs in which this operator does not work, except for those that it cannot watch. */
  #othersNamespaces(): string[] {
    const { clusterSyncs, watched, mayWork } = this.#options;
    const used = new Set(clusterSyncs.list().map(({ metadata }) => metadata.namespace ?? ''));
    return [...used].filter((each) => watched.isKnown(each) && !mayWork(each)).sort();
  }

  #eventsOf = async (
    { metadata: { namespace, uid } }: KubeObject,
    signal: AbortSignal,
  ): Promise<EventsView> => {
    if (uid === undefined) return { shown: [], hasMore: false };
    const selection = { namespace, fieldSelector: `regarding.uid=${uid}` };
    const { client } = this.#options;
    const options = { ...selection, maxItems: maxEvents, signal };
    const { items, hasMore } = await client.list(events, options);
    const shown = items.map((event): EventView => {
      const { type, reason, note, regarding, series } = event;
      return {
        type: type ?? 'Normal',
        reason: reason ?? '',
        note: note ?? '',
        about: `${regarding?.kind ?? ''}/${regarding?.name ?? ''}`,
        count: series?.count ?? 1,
        at: lastSeen(event),
      };
    });
    return { shown, hasMore };
  };
}

function byName(one: KubeObject, other: KubeObject): number {
  return one.metadata.name.localeCompare(other.metadata.name);
}
