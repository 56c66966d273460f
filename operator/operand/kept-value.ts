import { createHash } from 'node:crypto';
import { validities, type Validity } from '../../service/certificate.ts';

/** A value of a Secret or a ConfigMap, as far as it is kept. */
export type KeptValue =
  | { readonly kind: 'whole'; readonly base64: string }
  /** It is too long to keep. */
  | {
      readonly kind: 'digest';
      readonly sha256: string;
      /** The one that ends last, if the value consists of certificates. */
      readonly lastCertificate: Validity | undefined;
    };

/** By their keys: whatever these are, such as `constructor`. */
export type KeptValues = ReadonlyMap<string, KeptValue>;

/** How much of the values of an object is kept, as base64: 24 KiB of text. Connection strings and most certificates are shorter. */
const maxKeptLength = 32 * 1024;
const maxKeptKeys = 128;

/**
 * What is kept of the values of an object: the short ones first. An object may have a megabyte of them, and hundreds of objects are cached.
 * @param data - in base64.
 * @param previous - what was kept of it before: certificates that are still the same are not read again.
 */
export function keptValues(
  data: Readonly<Record<string, string>>,
  previous: KeptValues | undefined,
): KeptValues {
  let length = 0;
  const kept = Object.entries(data)
    .toSorted(([, one], [, other]) => one.length - other.length)
    .slice(0, maxKeptKeys)
    .map(([key, base64]): [string, KeptValue] => {
      length += base64.length;
      const isKept = length <= maxKeptLength;
      return [key, isKept ? { kind: 'whole', base64 } : digestOf(base64, previous?.get(key))];
    });
  return new Map(kept);
}

function digestOf(base64: string, previous: KeptValue | undefined): KeptValue {
  const sha256 = createHash('sha256').update(base64).digest('hex');
  if (previous?.kind === 'digest' && previous.sha256 === sha256) return previous;
  const text = Buffer.from(base64, 'base64').toString();
  return { kind: 'digest', sha256, lastCertificate: lastOf(validities(text)) };
}

/** The one that ends last: old and new authorities stand side by side. */
export function lastOf(found: readonly Validity[] | undefined): Validity | undefined {
  return found?.toSorted((one, other) => one.untilMs - other.untilMs).at(-1);
}
