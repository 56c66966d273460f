import type { Lease } from '../kube/builtin-resources.ts';
import { objectKey, parseKey, type KubeObject } from '../kube/resource.ts';

/** The custom resource that a Lease is for. It may be gone, and another of its name be there. */
export interface LeaseHolder {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Where the uid of the holder is: the identity is for people. */
const uidAnnotation = 'clustersync.dev/holder-uid';

/** Who is to hold a Lease. @throws TypeError for an object that was not read from the API server. */
export function holderOf({ metadata: { namespace, name, uid }, kind }: KubeObject): LeaseHolder {
  if (namespace === undefined || uid === undefined) throw new TypeError(`${kind} ${name}: no uid`);
  return { namespace, name, uid };
}

/** What says in a Lease who holds it. */
export function heldBy({ namespace, name, uid }: LeaseHolder): {
  readonly spec: NonNullable<Lease['spec']>;
  readonly annotations: Readonly<Record<string, string>>;
} {
  return {
    spec: { holderIdentity: objectKey({ namespace, name }) },
    annotations: { [uidAnnotation]: uid },
  };
}

/** Who holds a Lease; undefined where that cannot be read: then nobody does. */
export function readHolder({ metadata, spec }: Lease): LeaseHolder | undefined {
  const uid = metadata.annotations?.[uidAnnotation];
  const { namespace, name } = parseKey(spec?.holderIdentity ?? '');
  if (uid === undefined || namespace === undefined || name === '') return undefined;
  return { namespace, name, uid };
}

/** The key of the holder, for queues and caches. */
export function holderKey({ namespace, name }: LeaseHolder): string {
  return objectKey({ namespace, name });
}
