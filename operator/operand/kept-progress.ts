import { shortened } from '../../service/errors.ts';

type Raw = Readonly<Record<string, unknown>>;

/** More than any instance reports that people read. */
const maxInstanceBytes = 16 * 1024;
/** For the reports of all instances: an object of more than 1.5 MiB is not stored. */
const maxTotalBytes = 768 * 1024;
const maxErrorLength = 4096;
const maxErrorBytes = 8 * 1024;
/** For the errors of all instances, in addition. */
const maxTotalErrorBytes = 256 * 1024;

/**
 * A progress for the status, limited to an instance's share of the bytes. If it is longer, long lists of texts are cut, and say
 * how many more there are; then the longest fields are left out, and `omittedFields` says how many.
 * @param instanceCount - how many share the room.
 */
export function keptProgress(raw: Raw, instanceCount = 1): Raw {
  const maxBytes = Math.min(maxInstanceBytes, Math.floor(maxTotalBytes / instanceCount));
  if (bytesOf(raw) <= maxBytes) return raw;
  const fields = Object.entries(raw)
    .map(([name, value]): readonly [string, unknown] => [name, cutList(value, maxBytes / 2)])
    .map((field) => ({ field, bytes: bytesOf(field) }))
    .sort((one, other) => one.bytes - other.bytes);
  // Includes the quotes and separators around each of them, and the count.
  let bytes = 64 + fields.reduce((sum, field) => sum + field.bytes, 0);
  let omittedFields = 0;
  while (bytes > maxBytes && fields.length > 0) {
    bytes -= fields.pop()?.bytes ?? 0;
    omittedFields++;
  }
  const shown = Object.fromEntries(fields.map(({ field }) => field));
  return omittedFields === 0 ? shown : { ...shown, omittedFields };
}

/**
 * An error for the status, limited to an instance's share of characters and bytes.
 * @param instanceCount - how many share the room.
 */
export function keptError(error: string, instanceCount = 1): string {
  const maxBytes = Math.min(maxErrorBytes, Math.floor(maxTotalErrorBytes / instanceCount));
  let length = Math.min(error.length, maxErrorLength);
  for (;;) {
    const kept = shortened(error, length);
    const bytes = bytesOf(kept);
    if (bytes <= maxBytes) return kept;
    length = Math.floor((length * maxBytes) / bytes);
  }
}

/** The first texts, as many as fit. */
function cutList(value: unknown, maxBytes: number): unknown {
  if (!Array.isArray(value) || !value.every((text) => typeof text === 'string')) return value;
  const kept: string[] = [];
  let bytes = 32;
  for (const text of value) {
    bytes += bytesOf(text) + 1;
    if (bytes > maxBytes) return [...kept, `and ${value.length - kept.length} more`];
    kept.push(text);
  }
  return value;
}

/** The length of a JSON value as the API server stores it, which writes `<`, `>`, `&`, U+2028 and U+2029 in six bytes. */
export function bytesOf(value: unknown): number {
  const text = JSON.stringify(value);
  let bytes = Buffer.byteLength(text);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x3c || code === 0x3e || code === 0x26) bytes += 5;
    else if (code === 0x2028 || code === 0x2029) bytes += 3;
  }
  return bytes;
}
