import type { OperandOptions } from '../api/clustersync.ts';
import type { ConditionCause } from './condition-cause.ts';
import type { OperandKind } from './names.ts';
import { fieldsOf, overlayProblem } from './pod-template.ts';
import type { OperandSettings } from './workload.ts';

/** What an administrator lets resources set. */
type Allowed = Pick<OperandSettings, 'image' | 'images' | 'podFields'>;

/**
 * Why an operand may not run with the options of its resource; undefined if it may. Otherwise anybody who can change a resource could
 * run any program with the Secrets of its namespace, or a pod with any rights.
 */
export function optionsCause(
  options: Pick<OperandOptions, 'image' | 'podTemplate'>,
  allowed: Allowed,
  kind: OperandKind,
): ConditionCause | undefined {
  const field = `spec.${kind}`;
  return (
    imageCause(options, allowed, field) ??
    podTemplateCause(options, allowed, kind, `${field}.podTemplate`)
  );
}

function imageCause(
  { image }: Pick<OperandOptions, 'image'>,
  { image: own, images }: Allowed,
  field: string,
): ConditionCause | undefined {
  if (image === undefined || image === own) return undefined;
  if (images.some((entry) => isOf(entry, image))) return undefined;
  return {
    reason: 'ImageNotAllowed',
    message: `${field}.image is not allowed by the operator's option operandImages: omit it, or have an administrator add it`,
    level: 'stalled',
  };
}

/** Whether an image is that of an entry, or in its registry or repository: compares whole parts of a name. */
function isOf(entry: string, image: string): boolean {
  if (!image.startsWith(entry)) return false;
  const rest = image.slice(entry.length);
  if (rest === '' || entry.endsWith('/')) return true;
  // What follows a colon is a tag only at the end: before a slash it is the port of a registry.
  return (
    rest.startsWith('/') || rest.startsWith('@') || (rest.startsWith(':') && !rest.includes('/'))
  );
}

function podTemplateCause(
  { podTemplate }: Pick<OperandOptions, 'podTemplate'>,
  { podFields }: Allowed,
  kind: OperandKind,
  field: string,
): ConditionCause | undefined {
  if (!podTemplate) return undefined;
  const problem = overlayProblem(podTemplate, kind);
  if (problem !== undefined) {
    return { reason: 'InvalidPodTemplate', message: `${field}.${problem}`, level: 'stalled' };
  }
  for (const [path, value] of fieldsOf(podTemplate)) {
    // A scalar may be allowed with some values only.
    if (podFields.includes(path)) continue;
    if (typeof value === 'string' && podFields.includes(`${path}=${value}`)) continue;
    return {
      reason: 'PodFieldNotAllowed',
      message: `${field}.${path} is not allowed by the operator's option operandPodFields: omit it, or have an administrator add it`,
      level: 'stalled',
    };
  }
  return undefined;
}
