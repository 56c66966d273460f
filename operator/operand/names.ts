import { createHash } from 'node:crypto';

/** A StatefulSet's pods have a label with its name, a hyphen and a hash of ten characters; a label has 63 at most. */
const maxLength = 52;
const hashLength = 10;
/** The rule for a Service's name, which is the strictest. */
const dnsLabel = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

/** The kinds of programs that the operator runs. */
export type OperandKind = 'syncer' | 'verifier';

/**
 * The name of the objects that the operator creates for a resource: `<name>-<kind>` or, if that is too long or not a DNS
 * label, as much of it as possible with a hash of the whole name. Deterministic.
 */
export function operandName(owner: string, kind: OperandKind): string {
  const plain = `${owner}-${kind}`;
  if (plain.length <= maxLength && dnsLabel.test(plain)) return plain;
  const hash = createHash('sha256').update(owner).digest('hex').slice(0, hashLength);
  const suffix = `-${hash}-${kind}`;
  const start = `x${owner.replaceAll('.', '-')}`;
  const label = /^[a-z]/.test(owner) ? start.slice(1) : start;
  return `${label.slice(0, maxLength - suffix.length).replace(/(?<!-)-+$/, '')}${suffix}`;
}

/** The labels by which the operator finds its objects; the pods of a StatefulSet and a Service are selected by them. */
export function selectorLabels(name: string, kind: OperandKind): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'clustersync',
    'app.kubernetes.io/component': kind,
    'app.kubernetes.io/instance': name,
  };
}

const managedBy = 'app.kubernetes.io/managed-by';
const manager = 'clustersync-operator';

/** All labels of an object that the operator creates. */
export function operandLabels(name: string, kind: OperandKind): Record<string, string> {
  return { ...selectorLabels(name, kind), ...managedLabels };
}

/** Of every object that the operator has created. */
export const managedLabels = { [managedBy]: manager };

/** Selects every object that the operator has created. */
export const managedSelector = `${managedBy}=${manager}`;

/** On pods: `Kind/name` of the custom resource that they are for. Names are too long for a label. */
export const ownerAnnotation = 'clustersync.dev/owner';
