import { messageOf } from '../../service/errors.ts';
import type { OperandOptions } from '../api/clustersync.ts';
import {
  networkPolicies,
  nodes,
  pods,
  services,
  statefulSets,
  type NetworkPolicy,
  type Node,
  type Pod,
  type Service,
  type StatefulSet,
} from '../kube/builtin-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { systemClock } from '../kube/clock.ts';
import {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
  KubeError,
} from '../kube/kube-error.ts';
import { controllerOf, isControlledBy } from '../kube/owner.ts';
import { objectKey, type KubeObject, type ObjectRef } from '../kube/resource.ts';
import { ChildApplier, ForeignObjectError } from './applier.ts';
import type { ObjectLookup } from './object-cache.ts';
import {
  checkedCredentials,
  wholeValue,
  type ReadValue,
  type SecretKey,
  type SecretValue,
} from './credentials.ts';
import { PodRefusals, type PodRefusal } from './pod-refusals.ts';
import { secretRefs, type OperandSecrets, type Sides } from './operand-secrets.ts';
import { SecretReader } from './secret-reader.ts';
import type { ConditionCause } from './condition-cause.ts';
import { tokenOf, type TokenKey } from './token-key.ts';
import type { OperandObjects } from './workload.ts';

/** Caches of the objects that the operator creates, and of their pods. */
export interface OperandCaches {
  readonly statefulSets: ObjectLookup<StatefulSet>;
  readonly services: ObjectLookup<Service>;
  readonly networkPolicies: ObjectLookup<NetworkPolicy>;
  readonly pods: ObjectLookup<Pod>;
}

/** A pod as it was observed. */
export interface ObservedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** The objects of operands in the cluster: read from the caches, written by server-side apply. */
export class OperandStore {
  readonly #client: KubeClient;
  readonly #caches: OperandCaches;
  readonly #secrets: SecretReader;
  readonly #applier: ChildApplier;
  readonly #tokenKey: TokenKey;
  readonly #refusals: PodRefusals;
  /** StatefulSets that are newer than those in the cache, with the version that the cache has: until it has another one. */
  readonly #newer = new Map<
    string,
    { readonly cachedVersion: string; readonly statefulSet: StatefulSet }
  >();

  /** @param onCorrected - as in ChildApplier. */
  constructor(
    client: KubeClient,
    caches: OperandCaches,
    tokenKey: TokenKey,
    onCorrected: (kind: string) => void,
  ) {
    this.#client = client;
    this.#tokenKey = tokenKey;
    this.#caches = caches;
    this.#secrets = new SecretReader(client);
    this.#refusals = new PodRefusals(client, systemClock);
    this.#applier = new ChildApplier(client, onCorrected);
  }

  /** The StatefulSet of an operand, if the owner controls it. */
  statefulSet(owner: KubeObject, name: string): StatefulSet | undefined {
    const found = this.#newestStatefulSet(keyBeside(owner, name));
    return found && isControlledBy(found, owner) ? found : undefined;
  }

  /** The existing pods with these names, by name: those of the owner's StatefulSet, not of a previous namesake's. */
  pods(owner: KubeObject, names: readonly string[]): ReadonlyMap<string, Pod> {
    return new Map(
      names.flatMap((name) => {
        const pod = this.#caches.pods.get(keyBeside(owner, name));
        const controller = pod && controllerOf(pod);
        const set = controller && this.statefulSet(owner, controller.name);
        return pod && set?.metadata.uid === controller?.uid ? [[name, pod]] : [];
      }),
    );
  }

  /** Why the StatefulSet has not created pods that do not exist, by their names, as far as that is known. */
  async podRefusals(
    statefulSet: StatefulSet | undefined,
    missingPods: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, PodRefusal>> {
    if (statefulSet && missingPods.length > 0 && statefulSet.spec?.replicas !== 0)
      return await this.#refusals.read(statefulSet, missingPods, signal);
    if (statefulSet) this.#refusals.forget(statefulSet.metadata);
    return new Map();
  }

  /**
   * The secrets that an operand of the owner runs with. Rejects if no operator has led yet: there is no token then.
   * @param asked - `sides`: undefined if no resource says where the connection strings are; `mayBeOld`: as in SecretReader.
   */
  async secrets(
    owner: KubeObject,
    asked: {
      readonly sides: Sides | undefined;
      readonly options: OperandOptions;
      readonly mayBeOld?: boolean;
    },
    signal: AbortSignal,
  ): Promise<OperandSecrets> {
    const { sides, options, mayBeOld = false } = asked;
    const refs = secretRefs(sides, options);
    const read = async (ref: SecretKey): Promise<ReadValue> => {
      return await this.#readValue(owner, ref, signal, mayBeOld);
    };
    const whole = async (ref: SecretKey): Promise<SecretValue> => wholeValue(await read(ref), ref);
    // In parallel: while they are read again, a command waits for them.
    const [key, source, destination, authority, credentials] = await Promise.all([
      this.#tokenKey.get(signal),
      refs.source && whole(refs.source),
      refs.destination && whole(refs.destination),
      refs.authority && whole(refs.authority),
      Promise.all(refs.credentials.map(read)),
    ]);
    return {
      ...{ source, destination, authority, token: tokenOf(key, owner) },
      credentials: checkedCredentials(refs.credentials, credentials),
    };
  }

  async #readValue(
    { metadata: { namespace } }: KubeObject,
    { kind, name, key }: SecretKey,
    signal: AbortSignal,
    mayBeOld: boolean,
  ): Promise<ReadValue> {
    const ref = { kind, namespace, name };
    const values = await this.#secrets
      .read(ref, signal, mayBeOld)
      .catch((error: unknown): 'forbidden' => {
        if (isForbidden(error)) return 'forbidden';
        throw error;
      });
    if (values === 'forbidden') {
      const resource = `${kind.toLowerCase()}s`;
      return {
        kind: 'unread',
        description: `the operator may not read the ${kind} ${name}: its role lacks "get" for ${resource}`,
      };
    }
    if (!values) return { kind: 'missing', description: `there is no ${kind} ${name}` };
    const value = values.get(key);
    if (value === undefined)
      return { kind: 'missing', description: `the ${kind} ${name} has no key ${key}` };
    return value.kind === 'whole' && value.base64 === ''
      ? { kind: 'missing', description: `the key ${key} of the ${kind} ${name} is empty` }
      : value;
  }

  /**
   * Makes the objects what they should be. Returns why they cannot be created, if so; rejects if that should be retried.
   */
  async apply(
    owner: KubeObject,
    objects: OperandObjects | undefined,
    signal: AbortSignal,
  ): Promise<ConditionCause | undefined> {
    try {
      if (objects) await this.#applyObjects(owner, objects, signal);
      return undefined;
    } catch (error) {
      const rejection = rejectionOf(error);
      if (rejection) return rejection;
      throw error;
    }
  }

  /** Scales the StatefulSet down to no pods, even if the rest of its spec cannot be applied. */
  async stop({ metadata }: StatefulSet, signal: AbortSignal): Promise<void> {
    const { uid } = metadata;
    const patch = { ...(uid !== undefined && { metadata: { uid } }), spec: { replicas: 0 } };
    try {
      await this.#client.patch(statefulSets, metadata, patch, { signal });
    } catch (error) {
      // Read again: it may have changed by now.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }

  /**
   * Deletes a pod without waiting for its node to confirm its end, unless it has been replaced or has changed.
   * @returns `changed` if so.
   */
  async removePod(
    { namespace, name, uid, resourceVersion }: ObservedPod,
    signal: AbortSignal,
  ): Promise<'deleted' | 'changed'> {
    try {
      const preconditions = { uid, resourceVersion };
      const options = { signal, gracePeriodSeconds: 0, preconditions };
      return (await this.#client.delete(pods, { namespace, name }, options))
        ? 'deleted'
        : 'changed';
    } catch (error) {
      if (isConflict(error)) return 'changed';
      throw error;
    }
  }

  /** A node, as the API server has it; undefined if there is none. */
  async node(name: string, signal: AbortSignal): Promise<Node | undefined> {
    return await this.#client.find(nodes, { name }, { signal });
  }

  /** Deletes the StatefulSet, and with it its pods. */
  async remove({ metadata }: StatefulSet, signal: AbortSignal): Promise<void> {
    const { uid } = metadata;
    await this.#client.delete(statefulSets, metadata, {
      signal,
      propagationPolicy: 'Background',
      ...(uid !== undefined && { preconditions: { uid } }),
    });
  }

  /** Forgets an operand: its owner is gone. Its objects are left to the garbage collector. */
  forget(ref: ObjectRef): void {
    this.#applier.forget(objectKey(ref));
    this.#newer.delete(objectKey(ref));
    this.#refusals.forget(ref);
  }

  async #applyObjects(
    owner: KubeObject,
    { service, networkPolicy, statefulSet, arePodsKept }: OperandObjects,
    signal: AbortSignal,
  ): Promise<void> {
    const caches = this.#caches;
    const key = objectKey(statefulSet.metadata);
    const apply = this.#applier;
    await apply.apply(services, caches.services.get(key), service, owner, signal);
    await apply.apply(
      networkPolicies,
      caches.networkPolicies.get(key),
      networkPolicy,
      owner,
      signal,
    );
    if (arePodsKept) return;
    const live = this.#newestStatefulSet(key);
    // A cache that moves meanwhile may be newer than the answer.
    const cachedVersion = caches.statefulSets.get(key)?.metadata.resourceVersion;
    const remember = (newer: StatefulSet | undefined): void => {
      if (newer && cachedVersion !== undefined)
        this.#newer.set(key, { cachedVersion, statefulSet: newer });
    };
    const isOverVersion = statefulSet.metadata.resourceVersion !== undefined;
    try {
      const written = await apply.apply(statefulSets, live, statefulSet, owner, signal);
      if (isOverVersion) remember(written);
    } catch (error) {
      if (!isOverVersion || !isConflict(error)) throw error;
      // The rest of the pass depends on none of it, and the next one decides by what is there.
      remember(await this.#client.find(statefulSets, statefulSet.metadata, { signal }));
    }
  }

  /** The cached one, or a newer one that is known: the cache may lag, and what is recorded there must not be decided again. */
  #newestStatefulSet(key: string): StatefulSet | undefined {
    const cached = this.#caches.statefulSets.get(key);
    const newer = this.#newer.get(key);
    if (newer && newer.cachedVersion === cached?.metadata.resourceVersion) return newer.statefulSet;
    this.#newer.delete(key);
    return cached;
  }
}

function keyBeside(owner: KubeObject, name: string): string {
  return objectKey({ namespace: owner.metadata.namespace, name });
}

/** What an error says about the objects to be created; undefined if it says nothing, so that a retry is needed. */
function rejectionOf(error: unknown): ConditionCause | undefined {
  const message = messageOf(error);
  if (error instanceof ForeignObjectError || isAlreadyExists(error)) {
    return { reason: 'NameConflict', message, level: 'warning' };
  }
  if (isInvalid(error) || isUntyped(error)) {
    return { reason: 'InvalidPodTemplate', message, level: 'stalled' };
  }
  if (isForbidden(error)) {
    return { reason: 'Forbidden', message, level: 'stalled' };
  }
  return undefined;
}

/**
 * How server-side apply answers a field of another type or of an unknown name, and a value that cannot be read, such as a quantity: with
 * no status of its own (API server 1.34).
 */
function isUntyped(error: unknown): boolean {
  return (
    error instanceof KubeError &&
    error.statusCode === 500 &&
    /failed to (create typed patch object|convert new object)/.test(error.message)
  );
}
