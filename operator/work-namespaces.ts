import { parseKey } from './kube/resource.ts';
import type { OwnedNamespaces } from './leases/owned-namespaces.ts';
import type { WatchedNamespaces } from './operand/watched-namespaces.ts';

/** In which namespaces the operator may work. */
export interface WorkNamespaces {
  readonly mayWork: (namespace: string) => boolean;
  /** Whether it may work there now, or may later. */
  readonly mayLater: (namespace: string) => boolean;
  /** Has a function called whenever that changes, with the namespace, or none if it may be any. */
  readonly onChange: (listener: (namespace?: string) => void) => void;
}

/** Those of its namespaces that it can read and owns. */
export function workNamespaces(
  watched: Pick<WatchedNamespaces, 'isKnown' | 'isUnseen' | 'onChange'>,
  owned: Pick<OwnedNamespaces, 'isOwned' | 'onChange'>,
): WorkNamespaces {
  return {
    mayWork: (namespace) => watched.isKnown(namespace) && owned.isOwned(namespace),
    mayLater: (namespace) => watched.isKnown(namespace) || watched.isUnseen(namespace),
    onChange: (listener) => {
      watched.onChange(() => {
        listener();
      });
      owned.onChange(listener);
    },
  };
}

/**
 * Whether an object's processes may be commanded at the time of the call: by the operator that acts, in a namespace in which it may
 * work. A command waits for its connection, and either may have changed by then.
 */
export function commandRule(
  mayAct: () => boolean,
  { mayWork }: Pick<WorkNamespaces, 'mayWork'>,
): (key: string) => boolean {
  return (key) => mayAct() && mayWork(parseKey(key).namespace ?? '');
}
