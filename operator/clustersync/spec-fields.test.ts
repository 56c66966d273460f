import assert from 'node:assert/strict';
import { otherStarts } from '../../sync-api/testing/start-examples.ts';
import type { ClusterSync, ClusterSyncSpec } from '../api/clustersync.ts';
import { otherPodOptions, specFields } from '../operand/testing/spec-fields.ts';
import { decide } from './decide.ts';
import { wantedDigest } from './identity.ts';
import { resetFinalizer } from './on-record.ts';
import { instancesOf } from './resources.ts';
import {
  answers,
  changed,
  clusterSync,
  manual,
  observationOf,
  phaseAndReadiness,
  runningPod,
  runningWorld,
} from './testing/worlds.ts';

/** What happens to a sync when its ClusterSync is created again with another value of a field. */
type Outcome =
  /** A different sync: nothing of the former one is continued, or touched. */
  | 'another sync'
  /** The same sync, which continues. */
  | 'the same sync'
  /** Its instances have other names, which the syncer refuses (NotAnInstance). */
  | 'another instance'
  /** The syncer finds out which deployment that is, and refuses another one (OtherSyncUnfinished). */
  | 'as its deployments are';

type Part = Partial<ClusterSyncSpec>;

const { spec: base } = clusterSync();
const secretRef = (name: string, key = 'uri') => ({ name, key });
const commit = (fields: object): Part => ({ commit: { ...manual, ...fields } });

const known = specFields('clustersyncs.yaml');

/** The options of a start, and the fields of those that are objects. */
const startFields = Object.fromEntries(
  Object.entries(otherStarts)
    .filter(([path]) => known.includes(path))
    .map(([path, [from, to]]) => [path, ['another sync', to, from] as const]),
);

const podFields = Object.fromEntries(
  Object.entries(otherPodOptions).map(([path, options]) => [
    `syncer.${path}`,
    ['the same sync', { syncer: { ...base.syncer, ...options } }] as const,
  ]),
);

const someLimits = {
  ...{ maxCopyBytesPerSecond: 2_000_000, maxCopyDocumentsPerSecond: 7, maxChangesPerSecond: 7 },
  ...{ maxConcurrentBatches: 7, oplogFirst: false },
  schedule: [{ from: '08:00', to: '18:00', maxChangesPerSecond: 7 }],
};

const someBrakes = {
  ...{ maxReplicationLagSeconds: 7, maxQueuedOperations: 7 },
  ...{ maxCacheDirtyPercent: 7, minFreeDiskPercent: 7 },
};

/** The credentials of a side: they decide how its deployment is reached, not which one it is. */
function credentialFields(side: 'source' | 'destination') {
  const withTls = (tls: ConnectionTls): Part => ({ [side]: { ...base[side], tls } });
  const withAuth = (user: ValueRef, password: ValueRef): Part => ({
    [side]: { ...base[side], auth: { userSecretRef: user, passwordSecretRef: password } },
  });
  const [user, password] = [secretRef('login', 'username'), secretRef('login', 'password')];
  return {
    [`${side}.auth.userSecretRef.name`]: [
      'the same sync',
      withAuth({ ...user, name: 'other' }, password),
    ],
    [`${side}.auth.userSecretRef.key`]: [
      'the same sync',
      withAuth({ ...user, key: 'other' }, password),
      withAuth(user, password),
    ],
    [`${side}.auth.passwordSecretRef.name`]: [
      'the same sync',
      withAuth(user, { ...password, name: 'other' }),
      withAuth(user, password),
    ],
    [`${side}.auth.passwordSecretRef.key`]: [
      'the same sync',
      withAuth(user, { ...password, key: 'other' }),
      withAuth(user, password),
    ],
    [`${side}.tls.caSecretRef.name`]: [
      'the same sync',
      withTls({ caSecretRef: secretRef('other', 'ca.crt') }),
    ],
    [`${side}.tls.caSecretRef.key`]: [
      'the same sync',
      withTls({ caSecretRef: secretRef('ca', 'other') }),
      withTls({ caSecretRef: secretRef('ca', 'ca.crt') }),
    ],
    [`${side}.tls.caConfigMapRef.name`]: [
      'the same sync',
      withTls({ caConfigMapRef: secretRef('other', 'ca.crt') }),
    ],
    [`${side}.tls.caConfigMapRef.key`]: [
      'the same sync',
      withTls({ caConfigMapRef: secretRef('ca', 'other') }),
      withTls({ caConfigMapRef: secretRef('ca', 'ca.crt') }),
    ],
    [`${side}.tls.serverName`]: ['the same sync', withTls({ serverName: 'db.example' })],
    [`${side}.tls.clientCertificateSecretRef.name`]: [
      'the same sync',
      withTls({ clientCertificateSecretRef: { name: 'client' } }),
    ],
  } as const;
}

type ValueRef = ReturnType<typeof secretRef>;
type ConnectionTls = NonNullable<ClusterSyncSpec['source']['tls']>;

/** Each field with a changed value, and its previous value if that is not the default. */
const fields: Readonly<Record<string, readonly [Outcome, to: Part, from?: Part]>> = {
  'source.name': ['another instance', { source: { ...base.source, name: 'older' } }],
  'source.uriSecretRef.name': [
    'as its deployments are',
    { source: { ...base.source, uriSecretRef: secretRef('other') } },
  ],
  'source.uriSecretRef.key': [
    'as its deployments are',
    { source: { ...base.source, uriSecretRef: secretRef('old-uri', 'other') } },
  ],
  'destination.name': ['the same sync', { destination: { ...base.destination, name: 'newer' } }],
  'destination.uriSecretRef.name': [
    'as its deployments are',
    { destination: { ...base.destination, uriSecretRef: secretRef('other') } },
  ],
  'destination.uriSecretRef.key': [
    'as its deployments are',
    { destination: { ...base.destination, uriSecretRef: secretRef('new-uri', 'other') } },
  ],
  ...credentialFields('source'),
  ...credentialFields('destination'),
  ...startFields,
  state: ['the same sync', { state: 'Paused' }],
  direction: ['the same sync', { direction: 'Reverse' }],
  'commit.mode': ['the same sync', commit({ mode: 'Automatic' })],
  'commit.maxLagSeconds': ['the same sync', commit({ maxLagSeconds: 20 })],
  'commit.verificationRef.name': ['the same sync', commit({ verificationRef: { name: 'check' } })],
  'commit.workloads': ['the same sync', commit({ workloads: [{ kind: 'Deployment', name: 'a' }] })],
  'commit.workloadsAfterCommit': ['the same sync', commit({ workloadsAfterCommit: 'ScaleBack' })],
  'commit.deadlineSeconds': ['the same sync', commit({ deadlineSeconds: 20 })],
  'commit.notBefore': [
    'the same sync',
    commit({ mode: 'Automatic', notBefore: '2026-12-05T22:00:00Z' }),
    commit({ mode: 'Automatic' }),
  ],
  'commit.notAfter': [
    'the same sync',
    commit({ mode: 'Automatic', notAfter: '2026-12-06T02:00:00Z' }),
    commit({ mode: 'Automatic' }),
  ],
  'commit.attempt': ['the same sync', commit({ attempt: 'again' })],
  'startOver.token': ['the same sync', { startOver: { token: 'again', destination: 'Keep' } }],
  'startOver.destination': [
    'the same sync',
    { startOver: { token: 'again', destination: 'Clean' } },
    { startOver: { token: 'again', destination: 'Keep' } },
  ],
  'repair.token': ['the same sync', { repair: { token: 'again', comparison: 'Hashes' } }],
  'repair.comparison': [
    'the same sync',
    { repair: { token: 'again', comparison: 'Bytes' } },
    { repair: { token: 'again', comparison: 'Hashes' } },
  ],
  ...Object.fromEntries(
    Object.entries(someLimits).map(([name, value]) => [
      `limits.${name}`,
      ['the same sync', { limits: { [name]: value } }] as const,
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(someBrakes).map(([name, value]) => [
      `limits.holdBack.${name}`,
      ['the same sync', { limits: { holdBack: { [name]: value } } }] as const,
    ]),
  ),
  onDelete: ['the same sync', { onDelete: 'Clean' }],
  dryRun: ['the same sync', { dryRun: true }],
  checkAgain: ['the same sync', { checkAgain: 'now' }],
  suspend: ['the same sync', { suspend: true }],
  'syncer.copyWorkers': ['the same sync', { syncer: { ...base.syncer, copyWorkers: 3 } }],
  'syncer.applyWorkers': ['the same sync', { syncer: { ...base.syncer, applyWorkers: 3 } }],
  'syncer.replaceLostPodsAfterSeconds': [
    'the same sync',
    { syncer: { ...base.syncer, replaceLostPodsAfterSeconds: 600 } },
  ],
  'syncer.instances': ['another instance', { syncer: { ...base.syncer, instances: 2 } }],
  ...podFields,
};

function deleted(spec: Part): ClusterSync {
  const { metadata, ...rest } = clusterSync({ ...spec, onDelete: 'Clean', suspend: false });
  const deletionTimestamp = '2026-01-01T12:00:00Z';
  return { ...rest, metadata: { ...metadata, finalizers: [resetFinalizer], deletionTimestamp } };
}

describe('a ClusterSync that is created again with another', () => {
  it('field: each of the definition has its place below', () => {
    assert.deepEqual(Object.keys(fields).sort(), known);
  });

  for (const [name, [outcome, to, from = {}]] of Object.entries(fields)) {
    it(`${name} is ${outcome}`, () => {
      const former = wantedDigest(clusterSync(from));
      const known = observationOf(changed(answers.changes, { optionsDigest: former }));
      const instances = instancesOf(clusterSync(to));
      const ids = instances.map(({ id }) => id);
      const there = runningWorld(undefined, {
        pods: new Map(instances.map(({ podName }) => [podName, runningPod(podName, ids)])),
        observations: new Map(ids.map((id) => [id, known])),
      });
      const { status, commands } = decide(clusterSync(to), there);
      const isOther = outcome === 'another sync';
      assert.equal(wantedDigest(clusterSync(to)) !== former, isOther);
      assert.equal(
        phaseAndReadiness(status).includes('DifferentSync'),
        isOther,
        phaseAndReadiness(status),
      );
      if (isOther) assert.deepEqual(commands, []);
      const end = decide(deleted(to), there);
      assert.equal(end.isEnded, isOther, 'a deletion ends its own sync, and no other one');
      assert.equal(end.commands.length === 0, isOther);
    });
  }
});
