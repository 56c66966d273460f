import type { ObjectHandler } from './kube/delivery.ts';
import type { KubeObject } from './kube/resource.ts';
import type { OperatorRuntime } from './operator-runtime.ts';

type Ownable = Pick<OperatorRuntime, 'owned' | 'recorder'>;

/** Acquires the namespace of each custom resource; of a new one, says in an event if another operator works there. */
export function onOwnable(runtime: Ownable): ObjectHandler<KubeObject> {
  return ({ kind, object }) => {
    if (kind === 'deleted') return;
    runtime.owned.add(object.metadata.namespace ?? '');
    if (kind === 'added') tell(runtime, object);
  };
}

/** Says in events that this operator does nothing in a namespace, once another one is found to work there. */
export function tellOfOthers(runtime: Ownable & Pick<OperatorRuntime, 'caches'>): void {
  const { owned, caches } = runtime;
  owned.onChange((namespace) => {
    if (owned.ownership(namespace).kind !== 'others') return;
    for (const object of [...caches.clusterSyncs.list(), ...caches.syncVerifications.list()])
      if (object.metadata.namespace === namespace) tell(runtime, object);
  });
}

function tell({ owned, recorder }: Ownable, regarding: KubeObject): void {
  const ownership = owned.ownership(regarding.metadata.namespace ?? '');
  if (ownership.kind !== 'others') return;
  recorder.record({
    regarding,
    type: 'Warning',
    reason: 'OtherOperator',
    action: 'Reconcile',
    note: `Several operators watch this namespace. ${ownership.holder} works here (namespace and name of its own Lease); this one does nothing. Limit one of them with watchNamespaces, or uninstall it`,
  });
}
