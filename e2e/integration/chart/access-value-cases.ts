/** A value of the chart, and what is different in the objects when it is set. */
export interface ValueCase {
  /** Path of the value that is set, or the first of several. */
  readonly value: string;
  readonly values: object;
  /** The values that both sides of the comparison have, where this one only matters together with them. */
  readonly base?: object;
  /** Lines of differenceOf. */
  readonly differences: readonly string[];
}

export const pod = 'Deployment/clustersync spec.template.spec';
export const operator = `${pod}.containers.0`;
export const testPod = 'Pod/clustersync-test spec';
const account = 'ServiceAccount/clustersync';
export const clusterWideRoles = [
  '- ClusterRole/clustersync-clustersync',
  '- ClusterRoleBinding/clustersync-clustersync',
];
const ownRoles = ['- Role/clustersync-own', '- RoleBinding/clustersync-own'];
const accountUsers = [
  'ClusterRoleBinding/clustersync-clustersync subjects.0.name',
  `${pod}.serviceAccountName`,
  `${testPod}.serviceAccountName`,
  'RoleBinding/clustersync-own subjects.0.name',
];
const policiesOf = (names: readonly string[]): string[] =>
  names.map((name) => `ValidatingAdmissionPolicy/clustersync-clustersync-${name}`);
/** Those that hold the operator's account. */
const accountPolicies = policiesOf([
  ...['clustersyncs', 'deletions', 'networkpolicies', 'services', 'statefulsets'],
]);
export const policies = [
  ...accountPolicies,
  ...policiesOf(['operands', 'operand-scales', 'operand-revisions', 'operand-pods']),
];
export const bindings = policies.map((name) => name.replace('/', 'Binding/'));
export const podPolicy =
  'ValidatingAdmissionPolicy/clustersync-clustersync-statefulsets spec.variables';

function onlyFor(name: string): string {
  return `"request.userInfo.username == 'system:serviceaccount:clustersync:${name}'"`;
}

/** The values that say who may do what, and reach whom. */
export const accessCases: readonly ValueCase[] = [
  {
    value: 'rbac.create',
    values: { rbac: { create: false } },
    differences: [...clusterWideRoles, ...ownRoles],
  },
  {
    value: 'rbac.aggregateRoles',
    values: { rbac: { aggregateRoles: true } },
    differences: [
      '+ ClusterRole/clustersync-clustersync-edit',
      '+ ClusterRole/clustersync-clustersync-view',
    ],
  },
  {
    value: 'admissionPolicy.enabled',
    values: { admissionPolicy: { enabled: false } },
    differences: [...policies, ...bindings].map((name) => `- ${name}`),
  },
  {
    value: 'replaceLostPods.enabled',
    values: { replaceLostPods: { enabled: true } },
    differences: [
      '+ ClusterRole/clustersync-clustersync-nodes',
      '+ ClusterRoleBinding/clustersync-clustersync-nodes',
      'ClusterRole/clustersync-clustersync rules.13.apiGroups.0:  → ""',
      'ClusterRole/clustersync-clustersync rules.13.resources.0:  → "pods"',
      'ClusterRole/clustersync-clustersync rules.13.verbs.0:  → "delete"',
      '+ ValidatingAdmissionPolicy/clustersync-clustersync-pod-deletions',
      '+ ValidatingAdmissionPolicyBinding/clustersync-clustersync-pod-deletions',
    ],
  },
  {
    value: 'serviceAccount.create',
    values: { serviceAccount: { create: false } },
    base: { serviceAccount: { name: 'given' } },
    differences: ['- ServiceAccount/given'],
  },
  {
    value: 'serviceAccount.name',
    values: { serviceAccount: { name: 'given' } },
    differences: [
      ...accountUsers.map((path) => `${path}: "clustersync" → "given"`),
      ...accountPolicies.map(
        (name) =>
          `${name} spec.matchConditions.0.expression: ${onlyFor('clustersync')} → ${onlyFor('given')}`,
      ),
      `- ${account}`,
      '+ ServiceAccount/given',
    ],
  },
  {
    value: 'serviceAccount.annotations',
    values: { serviceAccount: { annotations: { role: 'r' } } },
    differences: [`${account} metadata.annotations.role:  → "r"`],
  },
  {
    value: 'operandImages',
    values: { operandImages: ['example.dev/tools', 'example.dev/other:1'] },
    differences: [
      `${operator}.args.10:  → "--operandImages=example.dev/tools,example.dev/other:1"`,
      String.raw`${podPolicy}.2.expression: "[]" → "[\"example.dev/tools\",\"example.dev/other:1\"]"`,
    ],
  },
  {
    value: 'operandPodFields',
    values: { operandPodFields: ['metadata.labels', 'metadata.annotations'] },
    differences: [
      `${operator}.args.10:  → "--operandPodFields=metadata.labels,metadata.annotations"`,
    ],
  },
  {
    value: 'operandEgress',
    values: { operandEgress: [] },
    differences: [
      String.raw`${operator}.args.9: "--operandEgress=[{\"namespaceSelector\":{}},{\"ipBlock\":{\"cidr\":\"0.0.0.0/0\",\"except\":[\"169.254.0.0/16\",\"100.100.100.200/32\"]}},{\"ipBlock\":{\"cidr\":\"::/0\",\"except\":[\"fe80::/10\",\"fd00:ec2::/32\",\"fd20:ce::254/128\"]}}]" → `,
    ],
  },
  {
    value: 'networkPolicy.enabled',
    values: { networkPolicy: { enabled: false } },
    differences: ['- NetworkPolicy/clustersync'],
  },
  {
    value: 'networkPolicy.metricsFrom',
    values: { networkPolicy: { metricsFrom: [{ ipBlock: { cidr: '10.0.0.0/8' } }] } },
    differences: [
      'NetworkPolicy/clustersync spec.ingress.0.from.1.namespaceSelector.matchLabels.metrics: "enabled" → ',
      'NetworkPolicy/clustersync spec.ingress.0.from.1.ipBlock.cidr:  → "10.0.0.0/8"',
    ],
  },
  {
    value: 'networkPolicy.apiServerPorts',
    values: { networkPolicy: { apiServerPorts: [9443] } },
    differences: [
      'NetworkPolicy/clustersync spec.egress.0.ports.2.port: 443 → 9443',
      ...[3, 4, 5].flatMap((index) => {
        const place = `NetworkPolicy/clustersync spec.egress.0.ports.${index}`;
        return [
          `${place}.port: ${[443, 6443, 8443, 16443][index - 2]} → `,
          `${place}.protocol: "TCP" → `,
        ];
      }),
    ],
  },
];
