import { posix } from 'node:path';
import type { OperandOptions } from '../api/clustersync.ts';
import type { StatefulSet } from '../kube/builtin-resources.ts';
import { managedLabels, selectorLabels, type OperandKind } from './names.ts';
import { mountRoot } from './operand-secrets.ts';

/** What a resource adds to the pods of its operand. */
export type PodOverlay = NonNullable<OperandOptions['podTemplate']>;

/** The template of a StatefulSet's pods. */
export type PodTemplate = NonNullable<StatefulSet['spec']>['template'];

type PodSpec = NonNullable<PodTemplate['spec']>;
type Container = PodSpec['containers'][number];
type ContainerOverlay = NonNullable<NonNullable<PodOverlay['spec']>['containers']>[number];

/** How a field of a pod's spec becomes part of what the operator makes. */
type Merge = 'set' | 'merged' | 'appended' | 'containers';

/** The fields that can be set. All others would change what the operator relies on, or have fields beside `podTemplate`. */
const mergeOfField: ReadonlyMap<string, Merge> = new Map([
  ['automountServiceAccountToken', 'set'],
  ['containers', 'containers'],
  ['dnsConfig', 'set'],
  ['dnsPolicy', 'set'],
  ['hostAliases', 'set'],
  ['initContainers', 'appended'],
  ['preemptionPolicy', 'set'],
  ['priorityClassName', 'set'],
  ['runtimeClassName', 'set'],
  ['schedulerName', 'set'],
  ['securityContext', 'merged'],
  ['serviceAccountName', 'set'],
  ['topologySpreadConstraints', 'set'],
  ['volumes', 'appended'],
]);

/** Fields of a pod's spec with a text as their value, which can be allowed with some values only. */
const textFields: readonly string[] = [
  ...['dnsPolicy', 'preemptionPolicy', 'priorityClassName'],
  ...['runtimeClassName', 'schedulerName', 'serviceAccountName'],
];

/** Whether an entry of the operator's option operandPodFields names a field, or a field and a text that it may be. */
export function isPodField(entry: string): boolean {
  const [path = '', ...value] = entry.split('=');
  if (value.length === 0) return overlayFields.includes(path);
  return textFields.some((name) => path === `spec.${name}`) && value.join('=') !== '';
}

/** What an administrator can let resources set: the paths of the fields in a pod's template. */
export const overlayFields: readonly string[] = [
  'metadata.labels',
  'metadata.annotations',
  ...[...mergeOfField.keys()].map((name) => `spec.${name}`),
];

/** The folder that the program can write to. */
export const temporaryFolder = '/tmp';
/** Of the operator's own image: Dockerfile. */
const programFolder = '/app';
const ownFolders: readonly string[] = [mountRoot, temporaryFolder, programFolder];

/** Options of the programs can be given as such variables. */
const ownVariables = /^CLUSTERSYNC_/i;

/** Fields of a resource that say something in an overlay, by their paths in it, with what they say. */
export function fieldsOf({ metadata = {}, spec = {} }: PodOverlay): Map<string, unknown> {
  const given = (place: string, values: object): [string, unknown][] =>
    Object.entries(values).map(([name, value]) => [`${place}.${name}`, value]);
  return new Map([...given('metadata', metadata), ...given('spec', spec)]);
}

/** What the operator does not let an overlay change, with its path in it, and why; undefined if there is no such thing. */
export function overlayProblem(overlay: PodOverlay, kind: OperandKind): string | undefined {
  const { metadata, spec } = overlay;
  const labels = { ...selectorLabels('', kind), ...managedLabels };
  const label = Object.keys(metadata?.labels ?? {}).find((name) => Object.hasOwn(labels, name));
  if (label !== undefined) return `metadata.labels: ${label} is the operator's own`;
  const annotation = Object.keys(metadata?.annotations ?? {}).find((name) =>
    name.startsWith('clustersync.dev/'),
  );
  if (annotation !== undefined) return `metadata.annotations: ${annotation} is the operator's own`;
  const field = Object.keys(spec ?? {}).find((name) => !mergeOfField.has(name));
  if (field !== undefined) {
    return `spec.${field} cannot be set, only ${[...mergeOfField.keys()].join(', ')}`;
  }
  const own = spec?.containers?.find(({ name }) => name === kind);
  return own && ownContainerProblem(own);
}

function ownContainerProblem(container: ContainerOverlay): string | undefined {
  const { name, env = [], volumeMounts = [], securityContext: _, ...others } = container;
  const place = `spec.containers: in ${name},`;
  const [field] = Object.keys(others);
  if (field !== undefined) {
    return `${place} ${field} cannot be set, only env, volumeMounts and securityContext`;
  }
  const variable = env.find((each) => ownVariables.test(each.name));
  if (variable) return `${place} the variable ${variable.name} is the operator's own`;
  const mount = volumeMounts.find(({ mountPath }) =>
    ownFolders.some((folder) => isWithin(mountPath, folder) || isWithin(folder, mountPath)),
  );
  return mount && `${place} a volume at ${mount.mountPath} would hide files of the program`;
}

/** Whether a path is a folder, or in it. */
function isWithin(path: string, folder: string): boolean {
  const [inner, outer] = [path, folder].map((each) => posix.join('/', each, '/'));
  return inner !== undefined && outer !== undefined && inner.startsWith(outer);
}

/**
 * The template with an overlay that has no {@link overlayProblem}. Names that are there twice are left to the API server, which
 * refuses them.
 */
export function withOverlay(
  template: PodTemplate,
  { metadata, spec = {} }: PodOverlay,
  kind: OperandKind,
): PodTemplate {
  const own = template.spec ?? { containers: [] };
  const merged = Object.entries(spec).map(([name, value]) => [
    name,
    mergedField(own, name, value, kind),
  ]);
  const { serviceAccountName } = spec;
  return {
    metadata: {
      ...template.metadata,
      labels: { ...metadata?.labels, ...template.metadata?.labels },
      annotations: { ...metadata?.annotations, ...template.metadata?.annotations },
    },
    spec: {
      ...own,
      ...(Object.fromEntries(merged) as Partial<PodSpec>),
      // The API server also keeps the name in the field's previous place, and would restore it from there once it is removed here.
      ...(serviceAccountName !== undefined && { serviceAccount: serviceAccountName }),
    },
  };
}

function mergedField(own: PodSpec, name: string, value: unknown, kind: OperandKind): unknown {
  const former: unknown = Reflect.get(own, name);
  switch (mergeOfField.get(name)) {
    case 'merged':
      return { ...(former as object), ...(value as object) };
    case 'appended':
      return [...((former ?? []) as unknown[]), ...(value as unknown[])];
    case 'containers':
      return mergedContainers(own.containers, value as readonly ContainerOverlay[], kind);
    case 'set':
    case undefined:
      return value;
  }
}

function mergedContainers(
  containers: readonly Container[],
  overlays: readonly ContainerOverlay[],
  kind: OperandKind,
): Container[] {
  const ofProgram = overlays.find(({ name }) => name === kind);
  const beside = overlays.filter((each) => each !== ofProgram);
  return [
    ...containers.map((container) => ({
      ...container,
      env: [...(container.env ?? []), ...(ofProgram?.env ?? [])],
      volumeMounts: [...(container.volumeMounts ?? []), ...(ofProgram?.volumeMounts ?? [])],
      securityContext: { ...container.securityContext, ...ofProgram?.securityContext },
    })),
    // The API server validates what else they are made of.
    ...(beside as unknown as Container[]),
  ];
}
