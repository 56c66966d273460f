/** metadata.ownerReferences[] */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** metadata of an object, as it is on the wire: times are strings. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

/** Any Kubernetes object, as it is on the wire. Objects from a cache are shared: never change them. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** Where the API has a kind of object, and the type of its objects. */
export interface Resource<T extends KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Carries only the type; never present at run time. */
  readonly object?: T;
}

/**
 * A generated model of `@kubernetes/client-node` as it is on the wire: times are strings, names that are reserved words of
 * JavaScript have no underscore, everything is read-only.
 */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer E)[]
    ? readonly Wire<E>[]
    : T extends object
      ? { readonly [K in keyof T as K extends `_${infer Name}` ? Name : K]: Wire<T[K]> }
      : T;

/** A generated model (`V1StatefulSet`, ...) as an object on the wire. */
export type Modelled<T> = Wire<Omit<T, 'apiVersion' | 'kind' | 'metadata'>> & KubeObject;

type DeepPartial<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: DeepPartial<T[K]> }
    : T;

/** What server-side apply sends: the fields that the sender wants to own, and the object's name. */
export type Intent<T extends KubeObject> = DeepPartial<
  Omit<T, 'apiVersion' | 'kind' | 'metadata'>
> & {
  readonly metadata: Pick<
    ObjectMeta,
    | 'name'
    | 'namespace'
    | 'uid'
    | 'resourceVersion'
    | 'labels'
    | 'annotations'
    | 'finalizers'
    | 'ownerReferences'
  >;
};

/** The name of one object; cluster-scoped objects have no namespace. */
export interface ObjectRef {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/**
 * Whether an object can have a name: the API server (1.34) answers a request for any other with 400, not 404.
 * Source: `pkg/api/validation/path` of k8s.io/apimachinery.
 */
export function isPossibleName(name: string): boolean {
  return name !== '.' && name !== '..' && !/[/%]/.test(name);
}

/** `v1` or `group/version`. */
export function apiVersionOf(resource: {
  readonly group: string;
  readonly version: string;
}): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/**
 * The path of an object or, without a name, of the collection.
 * @param namespace - for a namespaced resource, undefined means all namespaces.
 */
export function resourcePath(
  resource: Resource<KubeObject>,
  { namespace, name }: { readonly namespace?: string | undefined; readonly name?: string },
  subresource?: string,
): string {
  if (resource.namespaced && name !== undefined && namespace === undefined) {
    throw new TypeError(`${resource.kind} ${name}: a namespace is required`);
  }
  const parts = [resource.group === '' ? '/api' : `/apis/${resource.group}`, resource.version];
  if (resource.namespaced && namespace !== undefined) {
    parts.push('namespaces', encodeURIComponent(namespace));
  }
  parts.push(resource.plural);
  if (name !== undefined) parts.push(encodeURIComponent(name));
  if (subresource !== undefined) parts.push(subresource);
  return parts.join('/');
}

/** The key of an object in caches and queues: `namespace/name`, or `name` for cluster-scoped objects. */
export function objectKey({ name, namespace }: ObjectRef): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** The reverse of {@link objectKey}. */
export function parseKey(key: string): ObjectRef {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
