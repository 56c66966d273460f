import type { OperandOptions } from '../api/clustersync.ts';
import type { ConditionCause } from './condition-cause.ts';
import type { OperandSettings } from './workload.ts';

/**
 * Why an operand is not run with the image that its resource names; undefined where it may be. Who may change a resource could have
 * any program run with the Secrets of its namespace otherwise.
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

/** Whether an image is that of an entry, or of its registry or repository: it matches whole parts of a name. */
function isOf(entry: string, image: string): boolean {
  if (!image.startsWith(entry)) return false;
  const rest = image.slice(entry.length);
  if (rest === '' || entry.endsWith('/')) return true;
  // What follows a colon is a tag only at the end: before a slash it is the port of another registry.
  return (
    rest.startsWith('/') || rest.startsWith('@') || (rest.startsWith(':') && !rest.includes('/'))
  );
}
