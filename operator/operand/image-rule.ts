import type { OperandOptions } from '../api/clustersync.ts';
import type { ConditionCause } from './condition-cause.ts';
import type { OperandSettings } from './workload.ts';

/**
 * Why an operand may not run the image that its resource names; undefined if it may. Otherwise anybody who can change a resource could
 * run any program with the Secrets of its namespace.
 * @param field - of the resource: `spec.syncer`.
 */
export function imageCause(
  { image }: Pick<OperandOptions, 'image'>,
  { image: own, images }: Pick<OperandSettings, 'image' | 'images'>,
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
