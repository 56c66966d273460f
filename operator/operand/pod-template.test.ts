import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import {
  fieldsOf,
  isPodField,
  overlayFields,
  overlayProblem,
  withOverlay,
  type PodOverlay,
  type PodTemplate,
} from './pod-template.ts';

const mount = (mountPath: string) => ({ name: 'more', mountPath });
const ofSyncer = (more: object): PodOverlay => ({
  spec: { containers: [{ name: 'syncer', ...more }] },
});

describe('overlayProblem', () => {
  for (const [what, overlay, expected] of [
    ['nothing', {}, undefined],
    ['a label', { metadata: { labels: { team: 'shop' } } }, undefined],
    [
      'a label of the operator',
      { metadata: { labels: { team: 'shop', 'app.kubernetes.io/instance': 'other' } } },
      'metadata.labels: app.kubernetes.io/instance is the operator',
    ],
    [
      'the label by which the operator finds its objects',
      { metadata: { labels: { 'app.kubernetes.io/managed-by': 'other' } } },
      'metadata.labels: app.kubernetes.io/managed-by is the operator',
    ],
    [
      'an annotation of the operator',
      { metadata: { annotations: { 'clustersync.dev/secrets-hash': 'x' } } },
      'metadata.annotations: clustersync.dev/secrets-hash is the operator',
    ],
    ['another annotation', { metadata: { annotations: { 'example.dev/a': 'x' } } }, undefined],
    ['the network of the node', { spec: { hostNetwork: true } }, 'spec.hostNetwork cannot be set'],
    ['what has a field of its own', { spec: { affinity: {} } }, 'spec.affinity cannot be set'],
    ['a name of the prototype', { spec: { constructor: {} } }, 'spec.constructor cannot be set'],
    [
      'anything in another container',
      { spec: { containers: [{ name: 'proxy', image: 'a', command: ['a'] }] } },
      undefined,
    ],
    ['the image', ofSyncer({ image: 'a' }), 'in syncer, image cannot be set'],
    ['the arguments', ofSyncer({ args: [] }), 'in syncer, args cannot be set'],
    ['a variable', ofSyncer({ env: [{ name: 'NODE_OPTIONS', value: 'a' }] }), undefined],
    [
      'a variable that is an option',
      ofSyncer({ env: [{ name: 'A' }, { name: 'CLUSTERSYNC_PORT', value: '1' }] }),
      'the variable CLUSTERSYNC_PORT is the operator',
    ],
    ['a label of any name', { metadata: { labels: { constructor: 'a' } } }, undefined],
    ['a volume', ofSyncer({ volumeMounts: [mount('/more')] }), undefined],
    [
      'a volume beside its folder',
      ofSyncer({ volumeMounts: [mount('/tmp-of-mine'), mount('/etc/clustersync-more')] }),
      undefined,
    ],
    ...[
      '/app',
      '/app/dist',
      '/tmp',
      '/tmp/',
      '/tmp/a',
      '/etc/clustersync/tls',
      '/etc',
      '/',
      '/a/../tmp',
      '//tmp',
    ].map(
      (path) =>
        [
          `a volume at ${path}`,
          ofSyncer({ volumeMounts: [mount('/more'), mount(path)] }),
          `a volume at ${path} would hide`,
        ] as const,
    ),
  ] as const satisfies readonly (readonly [string, PodOverlay, string | undefined])[]) {
    it(`${expected === undefined ? 'takes' : 'refuses'} ${what}`, () => {
      const problem = overlayProblem(overlay, 'syncer');
      if (expected === undefined) assert.equal(problem, undefined);
      else assert.ok(problem?.includes(expected), problem);
    });
  }

  it('knows the program of the other kind as a container beside it', () => {
    assert.equal(overlayProblem(ofSyncer({ image: 'a' }), 'verifier'), undefined);
  });
});

describe('fieldsOf', () => {
  it('names each field that says something', () => {
    const overlay = {
      metadata: { annotations: { a: 'b' } },
      spec: { priorityClassName: 'low', volumes: [] },
    };
    assert.deepEqual(
      [...fieldsOf(overlay)],
      [
        ['metadata.annotations', { a: 'b' }],
        ['spec.priorityClassName', 'low'],
        ['spec.volumes', []],
      ],
    );
    assert.equal(fieldsOf({}).size, 0);
    for (const path of fieldsOf(overlay).keys()) assert.ok(overlayFields.includes(path), path);
  });
});

describe('isPodField', () => {
  const schemaFile = new URL('../../charts/clustersync/values.schema.json', import.meta.url);
  const { definitions } = JSON.parse(readFileSync(schemaFile, 'utf8')) as {
    readonly definitions: { readonly podField: { readonly pattern: string } };
  };
  const pattern = new RegExp(definitions.podField.pattern);

  for (const [entry, expected] of [
    ...overlayFields.map((path) => [path, true] as const),
    ['spec.priorityClassName=low', true],
    ['spec.serviceAccountName=sync.a-b', true],
    ['spec.dnsPolicy=Default', true],
    ['spec.priorityClassName=', false],
    ['spec.automountServiceAccountToken=true', false],
    ['spec.volumes=a', false],
    ['metadata.labels=a', false],
    ['spec.hostNetwork', false],
    ['spec.constructor', false],
    ['spec', false],
    ['', false],
  ] as const) {
    it(`is ${String(expected)} for "${entry}", for the operator and for the chart`, () => {
      assert.equal(isPodField(entry), expected);
      assert.equal(pattern.test(entry), expected);
    });
  }
});

describe('withOverlay', () => {
  const template: PodTemplate = {
    metadata: { labels: { own: '1' }, annotations: { own: '2' } },
    spec: {
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          ...{ name: 'syncer', image: 'a', args: ['b'] },
          env: [{ name: 'OWN', value: '1' }],
          volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
          securityContext: { readOnlyRootFilesystem: true },
        },
      ],
      volumes: [{ name: 'tmp', emptyDir: {} }],
    },
  };

  it('is the same without one', () => {
    assert.deepEqual(withOverlay(template, {}, 'syncer'), template);
  });

  it('adds labels and annotations, and changes none', () => {
    const metadata = { labels: { own: 'x', more: '3' }, annotations: { own: 'x', more: '4' } };
    assert.deepEqual(withOverlay(template, { metadata }, 'syncer').metadata, {
      labels: { own: '1', more: '3' },
      annotations: { own: '2', more: '4' },
    });
  });

  it('merges each field as it is of use', () => {
    const spread = [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }];
    const spec = {
      automountServiceAccountToken: true,
      ...{ serviceAccountName: 'sync', topologySpreadConstraints: spread },
      securityContext: { fsGroup: 7, runAsNonRoot: false },
      volumes: [{ name: 'more', emptyDir: {} }],
      initContainers: [{ name: 'before', image: 'c' }],
      containers: [
        { name: 'beside', image: 'd', command: ['e'] },
        {
          name: 'syncer',
          env: [{ name: 'MORE', value: '2' }],
          volumeMounts: [{ name: 'more', mountPath: '/more' }],
          securityContext: { runAsUser: 8 },
        },
      ],
    };
    assert.deepEqual(withOverlay(template, { spec }, 'syncer').spec, {
      automountServiceAccountToken: true,
      ...{ serviceAccountName: 'sync', serviceAccount: 'sync' },
      topologySpreadConstraints: spread,
      securityContext: {
        ...{ fsGroup: 7, runAsNonRoot: false },
        seccompProfile: { type: 'RuntimeDefault' },
      },
      volumes: [
        { name: 'tmp', emptyDir: {} },
        { name: 'more', emptyDir: {} },
      ],
      initContainers: [{ name: 'before', image: 'c' }],
      containers: [
        {
          ...{ name: 'syncer', image: 'a', args: ['b'] },
          env: [
            { name: 'OWN', value: '1' },
            { name: 'MORE', value: '2' },
          ],
          volumeMounts: [
            { name: 'tmp', mountPath: '/tmp' },
            { name: 'more', mountPath: '/more' },
          ],
          securityContext: { readOnlyRootFilesystem: true, runAsUser: 8 },
        },
        { name: 'beside', image: 'd', command: ['e'] },
      ],
    });
  });
});
