import type { OperandOptions } from '../../../operator/api/clustersync.ts';
import { operandObjects, type OperandObjects } from '../../../operator/operand/workload.ts';
import { releaseNamespace } from './helm.ts';

const image = 'example.dev/clustersync:test';
const owner = {
  apiVersion: 'clustersync.dev/v1alpha1',
  kind: 'ClusterSync',
  metadata: { namespace: 'shop', name: 'orders', uid: 'a-uid' },
};

/** What the operator makes for a ClusterSync. */
export function operandMade(options: Partial<OperandOptions>): OperandObjects {
  return operandObjects(
    {
      ...{ owner, name: 'orders-syncer', kind: 'syncer', replicas: 1, port: 27182 },
      args: ['--id=old'],
      token: 'token',
      podIndexVariable: 'CLUSTERSYNC_INSTANCE',
      secrets: [
        { folder: 'source', kind: 'Secret', name: 'old-uri', items: [{ key: 'uri', path: 'uri' }] },
        { folder: 'ca', kind: 'ConfigMap', name: 'trusted', items: [{ key: 'a', path: 'ca.crt' }] },
      ],
      options: { resources: {}, logLevel: 'info', tls: { secretName: 'orders-tls' }, ...options },
      secretsRecord: { hash: 'hash', changedAt: undefined, replaces: undefined },
    },
    {
      image,
      imagePullPolicy: 'IfNotPresent',
      images: [],
      podFields: [],
      egress: [{ namespaceSelector: {} }],
      operatorNamespace: releaseNamespace,
    },
  );
}

/** Without any option. */
export const made = operandMade({});

/** An object with another value at a place. */
export function changed(object: object, place: string, value: unknown): object {
  const copy = structuredClone(object);
  const parts = place.split('.');
  const last = parts.pop() ?? '';
  const at = parts.reduce<object>((each, part) => Reflect.get(each, part) as object, copy);
  if (value === undefined) Reflect.deleteProperty(at, last);
  else Reflect.set(at, last, value);
  return copy;
}

const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' };
const unconfined = { 'container.apparmor.security.beta.kubernetes.io/syncer': 'unconfined' };

function probeOf(more: object): object {
  return { httpGet: { path: '/', port: 80, ...more } };
}

/** What has a StatefulSet have the pods with these labels, and those made with them. */
function labelled(matchLabels: object): object {
  const { template } = made.statefulSet.spec ?? {};
  return {
    selector: { matchLabels },
    template: { ...template, metadata: { labels: matchLabels } },
  };
}

export function placeIn(object: object, place: string): object {
  return place.split('.').reduce((at, part) => Reflect.get(at, part) as object, object);
}

export const pod = 'spec.template.spec';
export const container = `${pod}.containers.0`;
const security = `${container}.securityContext`;
export const sidecar = { name: 'other', image };
const stranger = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x', controller: true }];

/** What the operator's rights would let it make: a place of its StatefulSet, and what is there. */
export const forbidden: readonly (readonly [string, string, unknown])[] = [
  ['no owner', 'metadata.ownerReferences', undefined],
  ['another owner', 'metadata.ownerReferences', stranger],
  ['a token of its account', `${pod}.automountServiceAccountToken`, true],
  ['no word about a token', `${pod}.automountServiceAccountToken`, undefined],
  ['another account', `${pod}.serviceAccountName`, 'builder'],
  ['the network of its node', `${pod}.hostNetwork`, true],
  ['the processes of its node', `${pod}.hostPID`, true],
  ['the IPC of its node', `${pod}.hostIPC`, true],
  [
    'a port of its node',
    `${container}.ports`,
    [{ name: 'api', containerPort: 80, hostPort: 80, protocol: 'TCP' }],
  ],
  [
    'a folder of its node',
    `${pod}.volumes`,
    [{ name: 'tmp', hostPath: { path: '/' } }, ...volumesOf(['source', 'ca', 'tls'])],
  ],
  [
    'a token as a volume',
    `${pod}.volumes`,
    [
      { name: 'tmp', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
      ...volumesOf(['source', 'ca', 'tls']),
    ],
  ],
  ['root', `${pod}.securityContext.runAsUser`, 0],
  ['perhaps root', `${pod}.securityContext.runAsNonRoot`, undefined],
  ['root in its container', `${security}.runAsUser`, 0],
  ['perhaps root in its container', `${security}.runAsNonRoot`, false],
  ['no seccomp profile', `${pod}.securityContext.seccompProfile`, undefined],
  ['another seccomp profile', `${security}.seccompProfile`, { type: 'Unconfined' }],
  ['another capability', `${security}.capabilities`, { drop: ['ALL'], add: ['NET_ADMIN'] }],
  ['the usual capabilities', `${security}.capabilities`, undefined],
  ['more privileges later', `${security}.allowPrivilegeEscalation`, undefined],
  ['a file system to write to', `${security}.readOnlyRootFilesystem`, false],
  [
    'privileges',
    security,
    { privileged: true, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
  ],
  ['a second container', `${pod}.containers.1`, sidecar],
  ['a container before it', `${pod}.initContainers`, [sidecar]],
  ['another command', `${container}.command`, ['sh']],
  ['a Secret in its environment', `${container}.envFrom`, [{ secretRef: { name: 'another' } }]],
  [
    'a program for its interpreter',
    `${container}.env`,
    [{ name: 'NODE_OPTIONS', value: '--import=data:' }],
  ],
  ['a command of its probe', `${container}.livenessProbe`, { exec: { command: ['sh'] } }],
  ['a probe of another host', `${container}.livenessProbe`, probeOf({ host: '169.254.169.254' })],
  [
    'headers of its probe',
    `${container}.readinessProbe`,
    probeOf({ httpHeaders: [{ name: 'a', value: 'b' }] }),
  ],
  [
    'a probe of a port of another host',
    `${container}.readinessProbe`,
    { tcpSocket: { port: 22, host: '10.0.0.1' } },
  ],
  [
    'a command at its start',
    `${container}.lifecycle`,
    { postStart: { exec: { command: ['sh'] } } },
  ],
  ['a probe of its start', `${container}.startupProbe`, { exec: { command: ['sh'] } }],
  ['another folder to begin in', `${container}.workingDir`, '/tmp'],
  ['an input', `${container}.stdin`, true],
  ['a terminal', `${container}.tty`, true],
  ['a device of its node', `${pod}.resourceClaims`, [{ name: 'x', resourceClaimName: 'x' }]],
  ['a node that nobody has chosen', `${pod}.nodeName`, 'control-plane'],
  ['another scheduler', `${pod}.schedulerName`, 'other'],
  ['a gate of the scheduler', `${pod}.schedulingGates`, [{ name: 'example.dev/gate' }]],
  ['a gate of its readiness', `${pod}.readinessGates`, [{ conditionType: 'example.dev/gate' }]],
  ['another runtime', `${pod}.runtimeClassName`, 'other'],
  ['the overhead of a runtime', `${pod}.overhead`, { cpu: '1' }],
  ['a priority of the system', `${pod}.priorityClassName`, 'system-node-critical'],
  ['a priority', `${pod}.priority`, 1_000_000],
  ['a way to displace others', `${pod}.preemptionPolicy`, 'Never'],
  ['resources of its own', `${pod}.resources`, { limits: { cpu: '1' } }],
  ['rules of how pods are spread', `${pod}.topologySpreadConstraints`, [spread]],
  ['an operating system', `${pod}.os`, { name: 'linux' }],
  ['hosts of its own', `${pod}.hostAliases`, [{ ip: '192.0.2.1', hostnames: ['db.shop'] }]],
  ['name servers of its own', `${pod}.dnsConfig`, { nameservers: ['192.0.2.1'] }],
  ['the name servers of its node', `${pod}.dnsPolicy`, 'Default'],
  ['a name', `${pod}.hostname`, 'db'],
  ['a domain', `${pod}.subdomain`, 'shop'],
  ['its full name as its name', `${pod}.setHostnameAsFQDN`, true],
  ['processes in common', `${pod}.shareProcessNamespace`, true],
  ['the users of its node', `${pod}.hostUsers`, true],
  ['a user', `${pod}.securityContext.runAsUser`, 1],
  ['a group', `${pod}.securityContext.runAsGroup`, 0],
  ['other groups', `${pod}.securityContext.supplementalGroups`, [0]],
  ['a way to find groups', `${pod}.securityContext.supplementalGroupsPolicy`, 'Strict'],
  ['a group of its files', `${pod}.securityContext.fsGroup`, 0],
  ['a way to give it files', `${pod}.securityContext.fsGroupChangePolicy`, 'Always'],
  [
    'settings of the kernel',
    `${pod}.securityContext.sysctls`,
    [{ name: 'kernel.shm_rmid_forced', value: '1' }],
  ],
  ['no AppArmor profile', `${pod}.securityContext.appArmorProfile`, { type: 'Unconfined' }],
  ['no AppArmor profile by an annotation', `spec.template.metadata.annotations`, unconfined],
  ['another SELinux type', `${pod}.securityContext.seLinuxOptions`, { type: 'spc_t' }],
  ['another way to label files', `${pod}.securityContext.seLinuxChangePolicy`, 'Recursive'],
  [
    'a user of Windows',
    `${pod}.securityContext.windowsOptions`,
    { runAsUserName: 'ContainerAdministrator' },
  ],
  ['a user in its container', `${security}.runAsUser`, 1],
  ['a group in its container', `${security}.runAsGroup`, 0],
  ['no AppArmor profile in its container', `${security}.appArmorProfile`, { type: 'Unconfined' }],
  ['another SELinux type in its container', `${security}.seLinuxOptions`, { type: 'spc_t' }],
  ['a user of Windows in its container', `${security}.windowsOptions`, { runAsUserName: 'a' }],
  ['labels of others', 'spec', { ...made.statefulSet.spec, ...labelled({ app: 'shop' }) }],
  ['an image that nobody has allowed', `${container}.image`, 'evil.dev/tool:1'],
  ['an image of a name that begins alike', `${container}.image`, 'example.dev/tools-evil:1'],
];

/** Fields of pods that are nobody's danger, or that no template of a StatefulSet can have, and are not in what the operator makes. */
export const unnamed: Readonly<Record<string, readonly string[]>> = {
  PodSpec: [
    // Only Always is taken.
    'restartPolicy',
    // Refused in every template; it is not taken from a StatefulSet; the older name of serviceAccountName.
    ...['ephemeralContainers', 'activeDeadlineSeconds', 'serviceAccount'],
    // Dropped by API servers whose feature gates are as they come: the policies name them.
    ...['hostnameOverride', 'workloadRef', 'schedulingGroup'],
  ],
  Container: [
    // How a message of the end is had, and whether a change of resources needs a restart.
    ...['terminationMessagePath', 'terminationMessagePolicy', 'resizePolicy'],
    // Without an input there is nothing to close; those of containers before the others; a device needs a claim, which is no volume here.
    ...['stdinOnce', 'restartPolicy', 'restartPolicyRules', 'volumeDevices'],
  ],
  // Refused without hostUsers; a row of its own changes several together.
  SecurityContext: ['procMount', 'privileged'],
  PodSecurityContext: [],
};

/** What the operator makes of each kind of these parts. */
export const parts: Readonly<Record<string, string>> = {
  PodSpec: pod,
  Container: container,
  PodSecurityContext: `${pod}.securityContext`,
  SecurityContext: security,
};

function volumesOf(names: readonly string[]): object[] {
  return names.map((name) => ({ name, secret: { secretName: name } }));
}

/** Fields of `podTemplate`, each with a value that the policy refuses where the field is not allowed. */
export const podFieldExamples = {
  automountServiceAccountToken: true,
  containers: [{ name: 'syncer', env: [{ name: 'TZ', value: 'UTC' }] }, sidecar],
  dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
  dnsPolicy: 'Default',
  hostAliases: [{ ip: '192.0.2.1', hostnames: ['old'] }],
  initContainers: [{ ...sidecar, name: 'before' }],
  preemptionPolicy: 'Never',
  priorityClassName: 'low',
  runtimeClassName: 'other',
  schedulerName: 'other',
  securityContext: { runAsUser: 1234 },
  serviceAccountName: 'sync',
  topologySpreadConstraints: [spread],
  volumes: [{ name: 'more', hostPath: { path: '/' } }],
};
