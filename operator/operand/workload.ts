import { createHash } from 'node:crypto';
import { hashOfToken } from '../../service/api-token.ts';
import { allAddresses } from '../../service/listening.ts';
import { environmentName } from '../../service/options.ts';
import type { OperandOptions } from '../api/clustersync.ts';
import type { NetworkPolicy, Service, StatefulSet } from '../kube/builtin-resources.ts';
import { controllerReference } from '../kube/owner.ts';
import type { Intent, KubeObject, ObjectMeta } from '../kube/resource.ts';
import type { ConditionCause } from './condition-cause.ts';
import { operandLabels, ownerAnnotation, selectorLabels, type OperandKind } from './names.ts';
import {
  secretsChangedAnnotation,
  secretsHashAnnotation,
  secretsOfOptions,
  secretVolumes,
  type MountedSecret,
  type SecretsRecord,
} from './operand-secrets.ts';
import { temporaryFolder, withOverlay, type PodTemplate } from './pod-template.ts';

type EgressRule = NonNullable<NonNullable<NetworkPolicy['spec']>['egress']>[number];

/** A peer of a NetworkPolicy: pods, or addresses. */
export type NetworkPolicyPeer = NonNullable<EgressRule['to']>[number];

/** Settings of this operator for all operands. */
export interface OperandSettings {
  /** Image if the resource names none. */
  readonly image: string;
  /** Pull policy that goes with it. */
  readonly imagePullPolicy: string;
  /** Other registries, repositories and images that resources may name. */
  readonly images: readonly string[];
  /** The fields of `podTemplate` that resources may set, as `spec.priorityClassName`, or as `spec.priorityClassName=low`. */
  readonly podFields: readonly string[];
  /** Which peers operands may reach, in addition to name servers; undefined for all. */
  readonly egress?: readonly NetworkPolicyPeer[] | undefined;
  /** Namespace of the operator's pods; undefined if it does not run in the cluster. */
  readonly operatorNamespace?: string | undefined;
}

/** What the objects of an operand are built from. */
export interface OperandPlan {
  readonly owner: KubeObject;
  readonly name: string;
  readonly kind: OperandKind;
  readonly replicas: number;
  readonly port: number;
  /** The command line, before the arguments that all operands have: contains no secret. */
  readonly args: readonly string[];
  /** Of the API. */
  readonly token: string;
  /** The environment variable that tells each pod its index in the StatefulSet. */
  readonly podIndexVariable?: string;
  readonly secrets: readonly MountedSecret[];
  readonly options: OperandOptions;
  readonly secretsRecord: SecretsRecord;
}

/** The objects of an operand. All are owned by the custom resource, and deleted with it. */
export interface OperandObjects {
  readonly service: Intent<Service>;
  readonly networkPolicy: Intent<NetworkPolicy>;
  readonly statefulSet: Intent<StatefulSet>;
  /** The StatefulSet stays as it is. */
  readonly arePodsKept?: true;
}

/** Annotation with a hash of what the operator has applied: reveals fields that it no longer wants. */
const intentHashAnnotation = 'clustersync.dev/intent-hash';
/** On pods that serve HTTPS: for scrapers of their metrics. */
export const schemeAnnotation = 'clustersync.dev/scheme';

const nameServerPorts = ['UDP', 'TCP'].map((protocol) => ({ port: 53, protocol }));

/** StatefulSets set it on their pods (Kubernetes 1.28 and newer). */
const podIndexLabel = `metadata.labels['apps.kubernetes.io/pod-index']`;

/** The Service, NetworkPolicy and StatefulSet of an operand, for server-side apply. */
export function operandObjects(plan: OperandPlan, settings: OperandSettings): OperandObjects {
  return {
    service: withIntentHash(serviceOf(plan)),
    networkPolicy: withIntentHash(networkPolicyOf(plan, settings)),
    statefulSet: overVersion(
      plan.secretsRecord.replaces,
      withIntentHash(statefulSetOf(plan, settings)),
    ),
  };
}

/**
 * The objects; if a Secret cannot be used, without a change of the pods: others would take the place of running ones, and could not
 * start.
 * @param statefulSet - the operand's, if there is one.
 * @param missing - why a Secret cannot be used; undefined if all can.
 */
export function unlessUnstartable(
  objects: OperandObjects,
  statefulSet: StatefulSet | undefined,
  missing: ConditionCause | undefined,
): OperandObjects {
  const isEnding = objects.statefulSet.spec?.replicas === 0;
  return !missing || !statefulSet || isEnding ? objects : { ...objects, arePodsKept: true };
}

/**
 * Tells a process which token its API accepts. The token has 256 bits, so it cannot be recovered from its hash. It is an argument, not a
 * variable, since a program that does not know it must not listen.
 */
export function tokenArgument(token: string): string {
  return `--apiTokenHash=${hashOfToken(token)}`;
}

/** Options of a program by their names there. What is absent has the program's default, which may change with the program. */
export function optionalArguments(
  options: Readonly<Record<string, string | number | undefined>>,
): readonly string[] {
  return Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}=${value}`],
  );
}

function metadataOf({
  owner,
  name,
  kind,
}: Pick<OperandPlan, 'owner' | 'name' | 'kind'>): Pick<
  ObjectMeta,
  'name' | 'namespace' | 'labels' | 'ownerReferences'
> {
  const { namespace } = owner.metadata;
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    labels: operandLabels(name, kind),
    ownerReferences: [controllerReference(owner)],
  };
}

function serviceOf(plan: OperandPlan): Intent<Service> {
  return {
    metadata: metadataOf(plan),
    spec: {
      clusterIP: 'None',
      // A failed syncer answers what is wrong, so it must be reachable, too.
      publishNotReadyAddresses: true,
      selector: selectorLabels(plan.name, plan.kind),
      ports: [{ name: 'api', port: plan.port, protocol: 'TCP', targetPort: 'api' }],
    },
  };
}

/**
 * Lets in the operator, and namespaces that are labelled for scraping metrics; lets out to the peers of the settings. Connection strings
 * name hosts, and a policy knows addresses: it is not derived from them.
 */
function networkPolicyOf(
  plan: OperandPlan,
  { operatorNamespace, egress }: OperandSettings,
): Intent<NetworkPolicy> {
  const from = [
    {
      namespaceSelector: {
        matchLabels: { 'kubernetes.io/metadata.name': operatorNamespace ?? '' },
      },
      podSelector: {
        matchLabels: {
          'app.kubernetes.io/name': 'clustersync',
          'app.kubernetes.io/component': 'operator',
        },
      },
    },
    { namespaceSelector: { matchLabels: { metrics: 'enabled' } } },
  ];
  return {
    metadata: metadataOf(plan),
    spec: {
      podSelector: { matchLabels: selectorLabels(plan.name, plan.kind) },
      policyTypes: ['Ingress', ...(egress ? ['Egress'] : [])],
      ingress: [
        {
          ports: [{ port: plan.port, protocol: 'TCP' }],
          // An operator outside the cluster has no pods to select: then only its token guards the API.
          ...(operatorNamespace !== undefined && { from }),
        },
      ],
      ...(egress && { egress: [{ ports: nameServerPorts }, { to: egress }] }),
    },
  };
}

function statefulSetOf(plan: OperandPlan, settings: OperandSettings): Intent<StatefulSet> {
  const { name, kind, replicas, options } = plan;
  const template = templateOf(plan, settings);
  const { changedAt } = plan.secretsRecord;
  return {
    metadata: {
      ...metadataOf(plan),
      ...(changedAt !== undefined && { annotations: { [secretsChangedAnnotation]: changedAt } }),
    },
    spec: {
      replicas,
      serviceName: name,
      // Instances wait for each other; and a pod that cannot start must not keep a corrected one from replacing it.
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: selectorLabels(name, kind) },
      template: options.podTemplate ? withOverlay(template, options.podTemplate, kind) : template,
    },
  };
}

function templateOf(plan: OperandPlan, settings: OperandSettings): PodTemplate {
  const { owner, name, kind } = plan;
  return {
    metadata: {
      labels: operandLabels(name, kind),
      annotations: {
        [ownerAnnotation]: `${owner.kind}/${owner.metadata.name}`,
        [secretsHashAnnotation]: plan.secretsRecord.hash,
        ...(plan.options.tls && { [schemeAnnotation]: 'https' }),
      },
    },
    spec: podSpecOf(plan, settings),
  };
}

type PodSpec = NonNullable<PodTemplate['spec']>;

function podSpecOf(plan: OperandPlan, settings: OperandSettings): PodSpec {
  const { options, secrets } = plan;
  const mounted = [...secrets, ...secretsOfOptions(options)];
  const { imagePullSecrets, nodeSelector, tolerations, affinity } = options;
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 30,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [containerOf(plan, settings)],
    volumes: [{ name: 'tmp', emptyDir: {} }, ...secretVolumes(mounted).volumes],
    ...(imagePullSecrets && { imagePullSecrets }),
    ...(nodeSelector && { nodeSelector }),
    ...(tolerations && { tolerations }),
    ...(affinity && { affinity }),
  };
}

function containerOf(plan: OperandPlan, settings: OperandSettings): PodSpec['containers'][number] {
  const { kind, port, args, podIndexVariable, secrets, options } = plan;
  const { resources, logLevel } = options;
  const named = secretsOfOptions(options);
  const imagePullPolicy =
    options.imagePullPolicy ?? (options.image === undefined ? settings.imagePullPolicy : undefined);
  return {
    name: kind,
    image: options.image ?? settings.image,
    ...(imagePullPolicy !== undefined && { imagePullPolicy }),
    args: [
      kind,
      ...args,
      `--port=${port}`,
      `--host=${allAddresses}`,
      tokenArgument(plan.token),
      ...named.flatMap(({ args: files }) => files),
      `--logLevel=${logLevel}`,
    ],
    env: [
      // Not an argument: a previous image, or another tool, would not accept it.
      { name: environmentName('connectionFiles'), value: 'refuse' },
      ...(podIndexVariable === undefined
        ? []
        : [{ name: podIndexVariable, valueFrom: { fieldRef: { fieldPath: podIndexLabel } } }]),
    ],
    ports: [{ name: 'api', containerPort: port, protocol: 'TCP' }],
    resources: {
      ...(resources.requests && { requests: quantities(resources.requests) }),
      ...(resources.limits && { limits: quantities(resources.limits) }),
    },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    // Checks only the event loop: a failed sync is not a reason to restart its process.
    livenessProbe: {
      ...probeOf(options, '/healthz'),
      ...{ periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
    },
    readinessProbe: {
      ...probeOf(options, '/readyz'),
      ...{ periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 3 },
    },
    volumeMounts: [
      { name: 'tmp', mountPath: temporaryFolder },
      ...secretVolumes([...secrets, ...named]).volumeMounts,
    ],
  };
}

type Probe = NonNullable<PodSpec['containers'][number]['livenessProbe']>;

/** An image that the resource names may be another tool, with only the API of the contract: it is enough that it listens. */
function probeOf({ image, tls }: OperandOptions, path: string): Probe {
  if (image !== undefined) return { tcpSocket: { port: 'api' } };
  return { httpGet: { path, port: 'api', ...(tls && { scheme: 'HTTPS' }) } };
}

function quantities(given: Readonly<Record<string, string | number>>): Record<string, string> {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));
}

/** What is written over this version of the object only; undefined for any. */
function overVersion<T extends Pick<Intent<KubeObject>, 'metadata'>>(
  resourceVersion: string | undefined,
  intent: T,
): T {
  if (resourceVersion === undefined) return intent;
  return { ...intent, metadata: { ...intent.metadata, resourceVersion } };
}

function withIntentHash<T extends Pick<Intent<KubeObject>, 'metadata'>>(intent: T): T {
  const hash = createHash('sha256').update(JSON.stringify(intent)).digest('hex').slice(0, 16);
  const annotations = { ...intent.metadata.annotations, [intentHashAnnotation]: hash };
  return { ...intent, metadata: { ...intent.metadata, annotations } };
}
