import type { KubeObject } from '../../../operator/kube/resource.ts';

/**
 * What is different between two sets of objects, in lines: `+ Kind/name` and `- Kind/name` for whole objects,
 * `Kind/name path: before → after` for fields, where an empty value means that the field is absent.
 */
export function differenceOf(
  before: readonly KubeObject[],
  after: readonly KubeObject[],
): readonly string[] {
  const [old, now] = [byName(before), byName(after)];
  const names = [...new Set([...old.keys(), ...now.keys()])].sort();
  return names.flatMap((name) => {
    const [one, other] = [old.get(name), now.get(name)];
    if (!one) return [`+ ${name}`];
    if (!other) return [`- ${name}`];
    return differentFields(one, other).map((line) => `${name} ${line}`);
  });
}

function byName(objects: readonly KubeObject[]): ReadonlyMap<string, KubeObject> {
  return new Map(
    objects.map((object) => {
      const { kind, metadata } = object;
      // Names of the release's own namespace, and of no namespace, are short.
      const place = metadata.namespace === undefined ? '' : `${metadata.namespace}/`;
      return [`${kind}/${place.replace(/^clustersync\/$/, '')}${metadata.name}`, object] as const;
    }),
  );
}

function differentFields(one: object, other: object): string[] {
  const [old, now] = [flattened(one), flattened(other)];
  const paths = [...new Set([...old.keys(), ...now.keys()])];
  return paths
    .filter((path) => old.get(path) !== now.get(path))
    .map((path) => `${path}: ${old.get(path) ?? ''} → ${now.get(path) ?? ''}`);
}

/** The leaves of an object by their paths, as JSON. */
function flattened(value: unknown, prefix = ''): Map<string, string> {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (entries.length === 0) return new Map([[prefix, JSON.stringify(value)]]);
  return new Map(
    entries.flatMap(([key, each]) => [
      ...flattened(each, prefix === '' ? key : `${prefix}.${key}`),
    ]),
  );
}
