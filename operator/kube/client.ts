import type { KubeConfig } from '@kubernetes/client-node';
import { isNotFound, KubeError } from './kube-error.ts';
import type { KubeMetrics } from './metrics.ts';
import {
  apiVersionOf,
  isPossibleName,
  resourcePath,
  type Intent,
  type KubeObject,
  type ObjectRef,
  type Resource,
} from './resource.ts';
import { KubeTransport, type KubeRequest, type OpenAnswer } from './transport.ts';

/** How long a call may take: every call has a signal, and a deadline of 10 s unless it sets another one. */
export interface CallOptions {
  readonly signal: AbortSignal;
  readonly deadlineMs?: number;
}

/** Selects the objects of a list or a watch. */
export interface Selection {
  /** Undefined: all namespaces, or a cluster-scoped resource. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

/** The objects of a collection at one resource version. */
export interface ObjectList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** True if the server has more than the limit. */
  readonly hasMore: boolean;
}

/** How to delete an object. */
export interface DeleteOptions extends CallOptions {
  /** Preconditions: a Conflict, and nothing is deleted, if the object is a different one (uid) or was changed (resourceVersion). */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  readonly gracePeriodSeconds?: number;
}

/** How clients differ. */
export interface ClientOptions {
  /** `clustersync` by default. */
  readonly fieldManager?: string;
  /** Called with the namespace before a request that changes something: if false, it is not sent. By default all are sent. */
  readonly mayWrite?: (namespace: string | undefined) => boolean;
}

const listPageSize = 500;

/**
 * The Kubernetes API without generated models: objects are what the server sent.
 * Every method rejects with a KubeError, or with the signal's reason once it is aborted.
 */
export class KubeClient implements Disposable {
  readonly fieldManager: string;
  readonly #transport: KubeTransport;

  /** @throws TypeError when the configuration names no cluster with an https address. */
  constructor(
    config: KubeConfig,
    metrics: KubeMetrics,
    { fieldManager = 'clustersync', mayWrite = () => true }: ClientOptions = {},
  ) {
    this.fieldManager = fieldManager;
    this.#transport = new KubeTransport(config, metrics, mayWrite);
  }

  /** @throws KubeError NotFound if there is none. */
  async get<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    options: CallOptions,
  ): Promise<T> {
    const path = resourcePath(resource, ref);
    return toObject(resource, await this.raw({ ...options, method: 'GET', path }), path);
  }

  /** Like {@link get}, but undefined if there is none, or if no object can have that name. */
  async find<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    options: CallOptions,
  ): Promise<T | undefined> {
    if (!isPossibleName(ref.name)) return undefined;
    try {
      return await this.get(resource, ref, options);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /**
   * The objects of a selection, read in pages of 500; the deadline applies to each page.
   * @param maxItems - how many are read at most, in the order of their names; all by default.
   */
  async list<T extends KubeObject>(
    resource: Resource<T>,
    {
      namespace,
      labelSelector,
      fieldSelector,
      maxItems = Infinity,
      ...options
    }: Selection & CallOptions & { readonly maxItems?: number },
  ): Promise<ObjectList<T>> {
    const path = resourcePath(resource, { namespace });
    const items: T[] = [];
    let page: ListPage | undefined;
    do {
      const query = {
        limit: String(Math.min(listPageSize, maxItems - items.length)),
        continue: page?.continueToken,
        labelSelector,
        fieldSelector,
      };
      page = toListPage(await this.raw({ ...options, method: 'GET', path, query }), path);
      for (const item of page.items) items.push(toObject(resource, item, path));
    } while (page.continueToken !== undefined && items.length < maxItems);
    const hasMore = page.continueToken !== undefined;
    return { items, resourceVersion: page.resourceVersion, hasMore };
  }

  /** @throws KubeError AlreadyExists. */
  async create<T extends KubeObject>(
    resource: Resource<T>,
    object: Intent<T>,
    options: CallOptions,
  ): Promise<T> {
    const path = resourcePath(resource, { namespace: object.metadata.namespace });
    const query = { fieldManager: this.fieldManager };
    const body = withType(resource, object);
    return toObject(
      resource,
      await this.raw({ ...options, method: 'POST', path, query, body }),
      path,
    );
  }

  /**
   * Replaces the object; with `metadata.resourceVersion`, only if it has not been changed since.
   * @throws KubeError Conflict.
   */
  async replace<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: CallOptions,
  ): Promise<T> {
    const path = resourcePath(resource, object.metadata);
    const query = { fieldManager: this.fieldManager };
    const body = withType(resource, object);
    return toObject(
      resource,
      await this.raw({ ...options, method: 'PUT', path, query, body }),
      path,
    );
  }

  /**
   * Server-side apply: this field manager takes ownership of the intent's fields by force; fields that it applied
   * before and that the intent no longer has are removed. Creates the object if there is none.
   */
  async apply<T extends KubeObject>(
    resource: Resource<T>,
    intent: Intent<T>,
    options: CallOptions,
  ): Promise<T> {
    return await this.#apply(resource, intent, options);
  }

  /** Server-side apply of the status subresource. Of the intent, only `status` counts. */
  async applyStatus<T extends KubeObject>(
    resource: Resource<T>,
    intent: Intent<T>,
    options: CallOptions,
  ): Promise<T> {
    return await this.#apply(resource, intent, options, 'status');
  }

  /** JSON merge patch: null removes a field, a list is replaced as a whole. */
  async patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: object,
    { subresource, ...options }: CallOptions & { readonly subresource?: 'status' },
  ): Promise<T> {
    const path = resourcePath(resource, ref, subresource);
    const answer = await this.raw({
      ...options,
      method: 'PATCH',
      path,
      query: { fieldManager: this.fieldManager },
      body: patch,
      contentType: 'application/merge-patch+json',
    });
    return toObject(resource, answer, path);
  }

  /**
   * Deletes the object. False if there was none.
   * @throws KubeError Conflict if a precondition does not hold.
   */
  async delete<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    { signal, deadlineMs, ...deleteOptions }: DeleteOptions,
  ): Promise<boolean> {
    try {
      await this.raw({
        signal,
        ...(deadlineMs === undefined ? {} : { deadlineMs }),
        method: 'DELETE',
        path: resourcePath(resource, ref),
        body: { apiVersion: 'v1', kind: 'DeleteOptions', ...deleteOptions },
      });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /** Any other request. Returns the body of the answer: parsed if it is JSON, otherwise as text. */
  async raw(request: KubeRequest): Promise<unknown> {
    return await this.#transport.send(request);
  }

  /** A request whose answer is streamed. */
  async open(request: KubeRequest): Promise<OpenAnswer> {
    return await this.#transport.open(request);
  }

  /** Closes the connections. */
  [Symbol.dispose](): void {
    this.#transport[Symbol.dispose]();
  }

  async #apply<T extends KubeObject>(
    resource: Resource<T>,
    intent: Intent<T>,
    options: CallOptions,
    subresource?: 'status',
  ): Promise<T> {
    const path = resourcePath(resource, intent.metadata, subresource);
    const answer = await this.raw({
      ...options,
      method: 'PATCH',
      path,
      query: { fieldManager: this.fieldManager, force: 'true' },
      body: withType(resource, intent),
      // JSON is YAML; the server accepts apply only with this type.
      contentType: 'application/apply-patch+yaml',
    });
    return toObject(resource, answer, path);
  }
}

interface ListPage {
  readonly items: readonly unknown[];
  readonly resourceVersion: string;
  readonly continueToken: string | undefined;
}

function withType<T extends KubeObject>(resource: Resource<T>, object: object): object {
  return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind };
}

/**
 * What the server sent, as an object of the resource. The server has validated it against its schema, so only the
 * envelope is checked. Fills in the type, which the items of a list lack.
 */
export function toObject<T extends KubeObject>(
  resource: Resource<T>,
  value: unknown,
  path: string,
): T {
  const metadata = property(value, 'metadata');
  if (typeof property(metadata, 'name') !== 'string') {
    throw invalid(path, `no ${resource.kind} in the answer`);
  }
  return withType(resource, value as object) as T;
}

function toListPage(value: unknown, path: string): ListPage {
  const items = property(value, 'items');
  const metadata = property(value, 'metadata');
  const resourceVersion = property(metadata, 'resourceVersion');
  const continueToken = property(metadata, 'continue');
  if (typeof resourceVersion !== 'string' || !(items === null || Array.isArray(items))) {
    throw invalid(path, 'no list in the answer');
  }
  return {
    items: items ?? [],
    resourceVersion,
    continueToken:
      typeof continueToken === 'string' && continueToken !== '' ? continueToken : undefined,
  };
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function invalid(path: string, message: string): KubeError {
  return new KubeError({ request: path, reason: 'InvalidResponse', message });
}
