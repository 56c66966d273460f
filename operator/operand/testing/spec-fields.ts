import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Definition } from '../../../crds/definition.ts';
import type { SchemaNode } from '../../../crds/json-schema.ts';
import type { OperandOptions } from '../../api/clustersync.ts';

/** The options of pods, by their paths in `spec.syncer` and `spec.verifier`, each with another value. */
export const otherPodOptions: Readonly<Record<string, Partial<OperandOptions>>> = {
  image: { image: 'example.dev/other:1' },
  imagePullPolicy: { imagePullPolicy: 'Always' },
  imagePullSecrets: { imagePullSecrets: [{ name: 'a' }] },
  'resources.requests': { resources: { requests: { cpu: 1 } } },
  'resources.limits': { resources: { limits: { cpu: 1 } } },
  nodeSelector: { nodeSelector: { a: 'b' } },
  tolerations: { tolerations: [{ key: 'a' }] },
  affinity: { affinity: {} },
  'podTemplate.metadata.labels': { podTemplate: { metadata: { labels: { a: 'b' } } } },
  'podTemplate.metadata.annotations': { podTemplate: { metadata: { annotations: { a: 'b' } } } },
  'podTemplate.spec.containers': { podTemplate: { spec: { containers: [{ name: 'a' }] } } },
  'podTemplate.spec.initContainers': { podTemplate: { spec: { initContainers: [{ name: 'a' }] } } },
  'podTemplate.spec.volumes': { podTemplate: { spec: { volumes: [{ name: 'a' }] } } },
  'podTemplate.spec.securityContext': {
    podTemplate: { spec: { securityContext: { fsGroup: 1 } } },
  },
  'podTemplate.spec.serviceAccountName': { podTemplate: { spec: { serviceAccountName: 'a' } } },
  'tls.secretName': { tls: { secretName: 'a' } },
  logLevel: { logLevel: 'debug' },
};

/** The schema of the spec in a definition of crds/. */
export function specSchema(file: string): SchemaNode {
  const text = readFileSync(new URL(`../../../crds/${file}`, import.meta.url), 'utf8');
  const { spec } = parse(text) as Definition;
  const node = spec.versions[0].schema.openAPIV3Schema.properties?.['spec'];
  assert.ok(node);
  return node;
}

/** The paths of the fields without subfields, in alphabetical order. */
export function specFields(file: string): string[] {
  return fieldsOf(specSchema(file), []).sort();
}

function fieldsOf(node: SchemaNode, place: readonly string[]): string[] {
  return node.properties
    ? Object.entries(node.properties).flatMap(([name, each]) => fieldsOf(each, [...place, name]))
    : [place.join('.')];
}
