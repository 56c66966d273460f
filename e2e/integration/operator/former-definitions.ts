import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { rulesOf, type SchemaNode } from '../../../crds/json-schema.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import type { KubeObject, Resource } from '../../../operator/kube/resource.ts';

/** Where the API has definitions. */
export const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The parts of a definition that are changed. */
export interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly versions: readonly { readonly schema: object }[] };
}

/** A definition as it is in crds/. */
export async function definitionOf({ plural }: Resource<KubeObject>): Promise<Definition> {
  const file = new URL(`../../../crds/${plural}.yaml`, import.meta.url);
  return parse(await readFile(file, 'utf8')) as Definition;
}

/** The same without the rules that apply to new values alone, as a former version was. */
export function withoutNewRules(definition: Definition): Definition {
  const copy = JSON.parse(JSON.stringify(definition)) as Definition;
  const strip = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const rules = rulesOf(node as SchemaNode);
    const left = rules.filter(({ optionalOldSelf = false }) => !optionalOldSelf);
    if (left.length < rules.length) Reflect.set(node, 'x-kubernetes-validations', left);
    for (const each of Object.values(node)) strip(each);
  };
  strip(copy);
  return copy;
}

/** Puts a definition in the place of the one of its name. It holds a moment later. */
export async function putDefinition(
  client: KubeClient,
  { metadata, spec }: Definition,
  signal: AbortSignal,
): Promise<void> {
  const path = `${definitions}/${metadata.name}`;
  const contentType = 'application/merge-patch+json';
  await client.raw({ method: 'PATCH', path, body: { spec }, contentType, signal });
}
