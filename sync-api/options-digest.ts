import { createHash } from 'node:crypto';
import { startDefaults } from './start-options.ts';

/**
 * Identifies the options of a start: hexadecimal SHA-256 over canonical JSON of the body. It does not depend on the order of an object's
 * fields, nor on whether a default is written out, nor on its limits. Defaults are left out rather than filled in, so that an option that a later version
 * adds does not change the digest of a sync that was started without it.
 * @param body - of POST /start, checked or not.
 */
export function optionsDigest(body: object): string {
  return createHash('sha256')
    .update(canonical(identifying(body), startDefaults))
    .digest('hex');
}

/** Limits change while the sync runs: they do not identify it. */
function identifying({ limits: _, ...options }: object & { readonly limits?: unknown }): object {
  return options;
}

/** Longest value of a field that a text quotes. */
const maxQuotedLength = 200;

/**
 * What differs between two starts, field by field; empty if their digests are the same.
 * @param given - the body of a request.
 * @param stored - that of the existing sync.
 */
export function differencesOf(given: object, stored: object): string[] {
  const [one, other] = [identifying(given), identifying(stored)];
  return differences(normal(one, startDefaults), normal(other, startDefaults), {
    path: '',
    defaults: startDefaults,
  });
}

function differences(
  given: unknown,
  stored: unknown,
  { path, defaults }: { readonly path: string; readonly defaults: unknown },
): string[] {
  if (isObject(given) && isObject(stored)) {
    const names = [...new Set([...Object.keys(stored), ...Object.keys(given)])].sort();
    return names.flatMap((name) =>
      differences(given[name], stored[name], {
        path: path === '' ? name : `${path}.${name}`,
        defaults: fieldOf(defaults, name),
      }),
    );
  }
  if (JSON.stringify(given) === JSON.stringify(stored)) return [];
  return [`${path} was ${quoted(stored, defaults)}, and is ${quoted(given, defaults)} here`];
}

function quoted(value: unknown, byDefault: unknown): string {
  const shown = value ?? (isObject(byDefault) ? undefined : byDefault);
  if (shown === undefined) return 'not given';
  const text = JSON.stringify(shown);
  return text.length > maxQuotedLength ? `${text.slice(0, maxQuotedLength)}…` : text;
}

function canonical(value: unknown, defaults: unknown): string {
  return JSON.stringify(normal(value, defaults));
}

/** Fields in alphabetical order, without those that are absent (null in the store) or have their default. */
function normal(value: unknown, defaults: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => normal(each, undefined));
  if (!isObject(value)) return value;
  const fields = Object.entries(value)
    .filter(
      ([name, each]) => each !== null && each !== undefined && each !== fieldOf(defaults, name),
    )
    .map(([name, each]) => [name, normal(each, fieldOf(defaults, name))] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(fields);
}

function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
