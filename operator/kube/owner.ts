import { objectKey, type KubeObject, type OwnerReference } from './resource.ts';

/**
 * The reference that makes `owner` the controller of an object: the object is deleted with it.
 * @throws TypeError if the owner has no uid, so was not read from the API server.
 */
export function controllerReference(owner: KubeObject): OwnerReference {
  const { name, uid } = owner.metadata;
  if (uid === undefined) throw new TypeError(`${owner.kind} ${name} has no uid`);
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The reference to an object's controller, if it has one. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** Whether `owner` controls the object: compared by uid, so that a later namesake does not. */
export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  return owner.metadata.uid !== undefined && controllerOf(object)?.uid === owner.metadata.uid;
}

/**
 * The key of the object's controller if it is of that kind: the event of an owned object puts it into the
 * queue. The version is not compared: objects created under an older one still belong.
 */
export function controllerKey(
  object: KubeObject,
  { group, kind }: { readonly group: string; readonly kind: string },
): string | undefined {
  const reference = controllerOf(object);
  if (reference?.kind !== kind) return undefined;
  const slash = reference.apiVersion.indexOf('/');
  if ((slash < 0 ? '' : reference.apiVersion.slice(0, slash)) !== group) return undefined;
  return objectKey({ name: reference.name, namespace: object.metadata.namespace });
}
