import {
  accessCases,
  bindings,
  clusterWideRoles,
  operator,
  pod,
  podPolicy,
  policies,
  testPod,
  type ValueCase,
} from './access-value-cases.ts';

const test = `${testPod}.containers.0`;
const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;

const manyReplicas = { replicas: 2 };
const budget = 'PodDisruptionBudget/clustersync';
const withServiceMonitor = { metrics: { serviceMonitor: { enabled: true } } };
const withPodMonitor = { metrics: { podMonitor: { enabled: true } } };
const withRules = { metrics: { prometheusRule: { enabled: true } } };
const withDashboards = { metrics: { dashboards: { enabled: true } } };
const dashboards = ['ConfigMap/clustersync-operator', 'ConfigMap/clustersync-syncs'];
const definitions = ['clustersyncs', 'syncverifications'].map(
  (plural) => `CustomResourceDefinition/${plural}.clustersync.dev`,
);

/** The runbooks of the alerts, in their order. */
const alerts = [
  'operator-down.md',
  'reconcile-errors.md',
  'namespace-not-watched.md',
  'namespace-not-owned.md',
  'sync-stalled.md',
  'sync-not-ready.md',
  'sync-not-ready.md',
  'copy-stuck.md',
  'commit-hangs.md',
  'secret-problem.md',
  'lag-high.md',
  'oplog-window.md',
  'oplog-window.md',
  'verification-stalled.md',
  'verification-stalled.md',
  'verification-stalled.md',
  'secret-problem.md',
  'verification-different.md',
];

function rule(index: number): string {
  return `PrometheusRule/clustersync spec.groups.0.rules.${index}`;
}

function lagAbove(seconds: number): string {
  return `"max by (namespace, name) (clustersync_lag_seconds) > ${seconds}"`;
}

function behind(seconds: number): string {
  return `"It has been more than ${seconds} seconds behind for 15 minutes."`;
}

function oplogBelow(seconds: number): string {
  return `"min by (namespace, name) (clustersync_syncer_oplog_remaining_seconds) < ${seconds}"`;
}

function image(before: string, after: string): readonly string[] {
  return [
    `${operator}.image: "${before}" → "${after}"`,
    `${operator}.args.1: "--operandImage=${before}" → "--operandImage=${after}"`,
    `${test}.image: "${before}" → "${after}"`,
    `${podPolicy}.3.expression: "'${before}'" → "'${after}'"`,
  ];
}

function inBothPods(path: string, value: string): readonly string[] {
  return [pod, testPod].map((spec) => `${spec}.${path}:  → ${value}`);
}

/** Every value of the chart. */
export const valueCases: readonly ValueCase[] = [
  ...accessCases,
  {
    value: 'image.repository',
    values: { image: { repository: 'example.dev/c' } },
    differences: image('clustersync:0.1.0', 'example.dev/c:0.1.0'),
  },
  {
    value: 'image.tag',
    values: { image: { tag: 'main' } },
    differences: image('clustersync:0.1.0', 'clustersync:main'),
  },
  {
    value: 'image.digest',
    values: { image: { digest } },
    base: { image: { tag: 'main' } },
    differences: image('clustersync:main', `clustersync@${digest}`),
  },
  {
    value: 'image.pullPolicy',
    values: { image: { pullPolicy: 'Always' } },
    differences: [
      `${operator}.imagePullPolicy: "IfNotPresent" → "Always"`,
      `${operator}.args.2: "--operandImagePullPolicy=IfNotPresent" → "--operandImagePullPolicy=Always"`,
      `${test}.imagePullPolicy: "IfNotPresent" → "Always"`,
    ],
  },
  {
    value: 'imagePullSecrets',
    values: { imagePullSecrets: [{ name: 'registry' }] },
    differences: inBothPods('imagePullSecrets.0.name', '"registry"'),
  },
  {
    value: 'watchNamespaces',
    values: { watchNamespaces: ['one', 'two'] },
    differences: [
      ...clusterWideRoles,
      ...[...policies, ...bindings].map((name) => `- ${name}`),
      `${operator}.args.10:  → "--watchNamespaces=one,two"`,
      '+ Role/one/clustersync',
      '+ Role/two/clustersync',
      '+ RoleBinding/one/clustersync',
      '+ RoleBinding/two/clustersync',
    ],
  },
  {
    value: 'replicas',
    values: { replicas: 3 },
    differences: ['Deployment/clustersync spec.replicas: 1 → 3'],
  },
  {
    value: 'logLevel',
    values: { logLevel: 'debug' },
    differences: [`${operator}.args.8: "--logLevel=info" → "--logLevel=debug"`],
  },
  {
    value: 'crds.enabled',
    values: { crds: { enabled: false } },
    differences: definitions.map((name) => `- ${name}`),
  },
  {
    value: 'crds.keep',
    values: { crds: { keep: false } },
    differences: definitions.map(
      (name) => `${name} metadata.annotations.helm.sh/resource-policy: "keep" → `,
    ),
  },
  {
    value: 'metrics.serviceMonitor.enabled',
    values: withServiceMonitor,
    differences: ['+ ServiceMonitor/clustersync'],
  },
  {
    value: 'metrics.serviceMonitor.interval',
    values: { metrics: { serviceMonitor: { interval: '5s' } } },
    base: withServiceMonitor,
    differences: ['ServiceMonitor/clustersync spec.endpoints.0.interval: "30s" → "5s"'],
  },
  {
    value: 'metrics.serviceMonitor.labels',
    values: { metrics: { serviceMonitor: { labels: { release: 'p' } } } },
    base: withServiceMonitor,
    differences: ['ServiceMonitor/clustersync metadata.labels.release:  → "p"'],
  },
  {
    value: 'metrics.podMonitor.enabled',
    values: withPodMonitor,
    differences: ['+ PodMonitor/clustersync'],
  },
  {
    value: 'metrics.podMonitor.interval',
    values: { metrics: { podMonitor: { interval: '5s' } } },
    base: withPodMonitor,
    differences: ['PodMonitor/clustersync spec.podMetricsEndpoints.0.interval: "30s" → "5s"'],
  },
  {
    value: 'metrics.podMonitor.labels',
    values: { metrics: { podMonitor: { labels: { release: 'p' } } } },
    base: withPodMonitor,
    differences: ['PodMonitor/clustersync metadata.labels.release:  → "p"'],
  },
  {
    value: 'metrics.podMonitor.tlsConfig',
    values: { metrics: { podMonitor: { tlsConfig: { insecureSkipVerify: true } } } },
    base: withPodMonitor,
    differences: [
      'PodMonitor/clustersync spec.podMetricsEndpoints.0.tlsConfig.insecureSkipVerify:  → true',
    ],
  },
  {
    value: 'metrics.prometheusRule.enabled',
    values: withRules,
    differences: ['+ PrometheusRule/clustersync'],
  },
  {
    value: 'metrics.prometheusRule.labels',
    values: { metrics: { prometheusRule: { labels: { release: 'p' } } } },
    base: withRules,
    differences: ['PrometheusRule/clustersync metadata.labels.release:  → "p"'],
  },
  {
    value: 'metrics.prometheusRule.alertLabels',
    values: { metrics: { prometheusRule: { alertLabels: { team: 'data' } } } },
    base: withRules,
    differences: alerts.map((_, index) => `${rule(index)}.labels.team:  → "data"`),
  },
  {
    value: 'metrics.prometheusRule.runbookUrl',
    values: { metrics: { prometheusRule: { runbookUrl: 'https://example.dev/r' } } },
    // It is more specific.
    base: { ...withRules, docsUrl: 'https://example.com/{page}' },
    differences: alerts.map((page, index) => {
      const former = `"https://example.com/runbooks/${page.replace('.md', '')}"`;
      return `${rule(index)}.annotations.runbook_url: ${former} → "https://example.dev/r/${page}"`;
    }),
  },
  {
    value: 'docsUrl',
    values: { docsUrl: 'https://example.dev/{page}.html' },
    base: { ...withRules, dashboard: { enabled: true } },
    differences: [
      `${operator}.args.12:  → "--docsUrl=https://example.dev/{page}.html"`,
      ...alerts.flatMap((page, index) => {
        const annotations = `${rule(index)}.annotations`;
        return [
          `${annotations}.runbook: "docs/runbooks/${page}" → `,
          `${annotations}.runbook_url:  → "https://example.dev/runbooks/${page.replace('.md', '.html')}"`,
        ];
      }),
    ],
  },
  {
    value: 'metrics.prometheusRule.maxLagSeconds',
    values: { metrics: { prometheusRule: { maxLagSeconds: 60 } } },
    base: withRules,
    differences: [
      `${rule(10)}.expr: ${lagAbove(300)} → ${lagAbove(60)}`,
      `${rule(10)}.annotations.description: ${behind(300)} → ${behind(60)}`,
    ],
  },
  {
    value: 'metrics.prometheusRule.minOplogRemainingSeconds',
    values: { metrics: { prometheusRule: { minOplogRemainingSeconds: 60 } } },
    base: withRules,
    differences: [`${rule(12)}.expr: ${oplogBelow(3600)} → ${oplogBelow(60)}`],
  },
  {
    value: 'metrics.dashboards.enabled',
    values: withDashboards,
    differences: dashboards.map((name) => `+ ${name}`),
  },
  {
    value: 'metrics.dashboards.labels',
    values: { metrics: { dashboards: { labels: { grafana_dashboard: 'yes' } } } },
    base: withDashboards,
    differences: dashboards.map((name) => `${name} metadata.labels.grafana_dashboard: "1" → "yes"`),
  },
  {
    value: 'metrics.dashboards.annotations',
    values: { metrics: { dashboards: { annotations: { folder: 'f' } } } },
    base: withDashboards,
    differences: dashboards.map((name) => `${name} metadata.annotations.folder:  → "f"`),
  },
  {
    value: 'dashboard.enabled',
    values: { dashboard: { enabled: true } },
    differences: [
      `${operator}.args.10:  → "--dashboard=true"`,
      `${operator}.args.11:  → "--dashboardPort=8081"`,
    ],
  },
  {
    value: 'dashboard.tokenSecret',
    values: { dashboard: { tokenSecret: 'board' } },
    base: { dashboard: { enabled: true } },
    differences: [
      '+ Service/clustersync-dashboard',
      `${operator}.args.12:  → "--dashboardHost=::"`,
      `${operator}.args.13:  → "--dashboardTokenFile=/etc/clustersync/dashboard/token"`,
      `${operator}.ports.1.containerPort:  → 8081`,
      `${operator}.ports.1.name:  → "dashboard"`,
      `${operator}.volumeMounts.0.mountPath:  → "/etc/clustersync/dashboard"`,
      `${operator}.volumeMounts.0.name:  → "dashboard-token"`,
      `${operator}.volumeMounts.0.readOnly:  → true`,
      `${pod}.volumes.0.name:  → "dashboard-token"`,
      `${pod}.volumes.0.secret.items.0.key:  → "token"`,
      `${pod}.volumes.0.secret.items.0.path:  → "token"`,
      `${pod}.volumes.0.secret.secretName:  → "board"`,
    ],
  },
  {
    value: 'dashboard.from',
    values: { dashboard: { from: [{ ipBlock: { cidr: '10.0.0.0/8' } }] } },
    base: { dashboard: { enabled: true, tokenSecret: 'board' } },
    differences: [
      'NetworkPolicy/clustersync spec.ingress.1.from.0.ipBlock.cidr:  → "10.0.0.0/8"',
      'NetworkPolicy/clustersync spec.ingress.1.ports.0.port:  → 8081',
      'NetworkPolicy/clustersync spec.ingress.1.ports.0.protocol:  → "TCP"',
    ],
  },
  {
    value: 'podDisruptionBudget.enabled',
    values: { podDisruptionBudget: { enabled: true } },
    base: manyReplicas,
    differences: [`+ ${budget}`],
  },
  {
    value: 'podDisruptionBudget.minAvailable',
    values: { podDisruptionBudget: { minAvailable: '50%' } },
    base: { ...manyReplicas, podDisruptionBudget: { enabled: true } },
    differences: [`${budget} spec.minAvailable: 1 → "50%"`],
  },
  {
    value: 'extraArgs',
    values: { extraArgs: ['--leaderElect=false'] },
    differences: [`${operator}.args.10:  → "--leaderElect=false"`],
  },
  {
    value: 'extraEnv',
    values: { extraEnv: [{ name: 'TZ', value: 'UTC' }] },
    differences: [`${operator}.env.2.name:  → "TZ"`, `${operator}.env.2.value:  → "UTC"`],
  },
  {
    value: 'resources',
    values: { resources: { limits: { memory: '1Gi' } } },
    differences: [`${operator}.resources.limits.memory: "512Mi" → "1Gi"`],
  },
  {
    value: 'podAnnotations',
    values: { podAnnotations: { note: 'x' } },
    differences: ['Deployment/clustersync spec.template.metadata.annotations.note:  → "x"'],
  },
  {
    value: 'podLabels',
    // Those that the Deployment selects by are not to be taken away.
    values: { podLabels: { team: 'data', 'app.kubernetes.io/name': 'other' } },
    differences: ['Deployment/clustersync spec.template.metadata.labels.team:  → "data"'],
  },
  {
    value: 'nodeSelector',
    values: { nodeSelector: { disk: 'fast' } },
    differences: inBothPods('nodeSelector.disk', '"fast"'),
  },
  {
    value: 'tolerations',
    values: { tolerations: [{ key: 'spot' }] },
    differences: inBothPods('tolerations.0.key', '"spot"'),
  },
  {
    value: 'affinity',
    values: { affinity: { podAntiAffinity: { x: 1 } } },
    differences: [`${pod}.affinity.podAntiAffinity.x:  → 1`],
  },
  {
    value: 'topologySpreadConstraints',
    values: {
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' },
      ],
    },
    differences: [
      ...['component: "operator"', 'instance: "clustersync"', 'name: "clustersync"'].map(
        (label) => {
          const path = `${pod}.topologySpreadConstraints.0.labelSelector.matchLabels`;
          return `${path}.app.kubernetes.io/${label.replace(': ', ':  → ')}`;
        },
      ),
      `${pod}.topologySpreadConstraints.0.maxSkew:  → 1`,
      `${pod}.topologySpreadConstraints.0.topologyKey:  → "zone"`,
      `${pod}.topologySpreadConstraints.0.whenUnsatisfiable:  → "ScheduleAnyway"`,
    ],
  },
  {
    value: 'priorityClassName',
    values: { priorityClassName: 'high' },
    differences: [`${pod}.priorityClassName:  → "high"`],
  },
];
