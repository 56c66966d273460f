import type { Lease } from '../kube/builtin-resources.ts';
import { objectKey, parseKey, type KubeObject } from '../kube/resource.ts';

/** The custom resource that a Lease is for. It may be gone, and a namesake may exist. */
export interface LeaseHolder {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Annotation with the holder's uid: the identity is for people. */
const uidAnnotation = 'clustersync.dev/holder-uid';

/** The future holder of a Lease. @throws TypeError for an object that was not read from the API server. */
export function holderOf({ metadata: { namespace, name, uid }, kind }: KubeObject): LeaseHolder {
  if (namespace === undefined || uid === undefined) throw new TypeError(`${kind} ${name}: no uid`);
  return { namespace, name, uid };
}

/** The fields of a Lease that name its holder. */
export function heldBy({ namespace, name, uid }: LeaseHolder): {
  readonly spec: NonNullable<Lease['spec']>;
  readonly annotations: Readonly<Record<string, string>>;
} {
  return {
    spec: { holderIdentity: objectKey({ namespace, name }) },
    annotations: { [uidAnnotation]: uid },
  };
}

/** The holder of a Lease; undefined if it cannot be read: then nobody holds it. */
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
