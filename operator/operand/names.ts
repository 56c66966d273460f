import { createHash } from 'node:crypto';

/** A StatefulSet's pods carry its name, a hyphen and a hash of ten characters in a label, which has 63 at most. */
const maxLength = 52;
const hashLength = 10;
/** What a Service's name must be: it is the strictest. */
const dnsLabel = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

/** The kinds of programs that the operator runs. */
export type OperandKind = 'syncer' | 'verifier';

/**
 * The name of what the operator makes for an object: `<name>-<kind>`, or, where that would be too long or is no DNS
 * label, as much of it as is possible with a hash of the whole name. The same name each time.
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

/** The labels by which the operator finds what it has made; those of a pod's StatefulSet and Service select by them. */
export function selectorLabels(name: string, kind: OperandKind): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'clustersync',
    'app.kubernetes.io/component': kind,
    'app.kubernetes.io/instance': name,
  };
}

const managedBy = 'app.kubernetes.io/managed-by';
const manager = 'clustersync-operator';

/** All labels of an object that the operator makes. */
export function operandLabels(name: string, kind: OperandKind): Record<string, string> {
  return { ...selectorLabels(name, kind), ...managedLabels };
}

/** Of everything that the operator has made. */
export const managedLabels = { [managedBy]: manager };

/** Selects everything that the operator has made. */
export const managedSelector = `${managedBy}=${manager}`;

/** On pods: `Kind/name` of the custom resource that they are for. Names are too long for a label. */
export const ownerAnnotation = 'clustersync.dev/owner';
