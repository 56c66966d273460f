import assert from 'node:assert/strict';
import { rootCertificates } from 'node:tls';
import { rulesOf } from '../../crds/json-schema.ts';
import type { SyncVerificationSpec, SyncVerificationStatus } from '../api/sync-verification.ts';
import { findCondition } from '../kube/conditions.ts';
import { otherPodOptions, specFields, specSchema } from '../operand/testing/spec-fields.ts';
import { decide, type Decision } from './decide.ts';
import {
  checking,
  committed,
  equal,
  follow,
  idle,
  running,
  verification,
  world,
} from './testing/worlds.ts';

/** What happens to a verification when one of its fields is edited. */
type Outcome =
  /** Nothing of the result stands: everything is compared again. */
  | 'another run'
  /** The comparison stays the same. */
  | 'the same run'
  /** The API server rejects any other value: another SyncVerification is needed. */
  | 'refused';

type Part = Partial<SyncVerificationSpec>;

const podFields = Object.fromEntries(
  Object.entries(otherPodOptions).map(([path, options]) => [
    `verifier.${path}`,
    ['the same run', { verifier: { resources: {}, logLevel: 'info', ...options } }] as const,
  ]),
);
const included = { includeNamespaces: [{ database: 'a' }] };
const other = { includeNamespaces: [{ database: 'b' }] };

/** Each field with a changed value, and its previous value if that is not the default. */
const fields: Readonly<Record<string, readonly [Outcome, to: Part, from?: Part]>> = {
  'clusterSyncRef.name': ['refused', { clusterSyncRef: { name: 'others' } }],
  'filter.includeNamespaces': ['another run', { filter: other }, { filter: included }],
  'filter.excludeNamespaces': [
    'another run',
    { filter: { ...included, excludeNamespaces: [{ database: 'a', collections: ['c'] }] } },
    { filter: included },
  ],
  comparison: ['another run', { comparison: 'Hashes' }],
  rerun: ['another run', { rerun: 'again' }],
  parallelism: ['the same run', { parallelism: 7 }],
  maxBytesPerSecond: ['the same run', { maxBytesPerSecond: 50_000_000 }],
  readPreference: ['the same run', { readPreference: 'secondary' }],
  ttlSecondsAfterFinished: ['the same run', { ttlSecondsAfterFinished: 60 }],
  ...podFields,
};

/** Fields that are absent or present as a whole. */
const wholes: Readonly<Record<string, readonly [Outcome, to: Part, from: Part]>> = {
  'a filter': ['another run', { filter: included }, {}],
  'no filter': ['another run', {}, { filter: included }],
  'no rerun': ['the same run', {}, { rerun: 'once' }],
};

const finished = {
  clusterSync: committed,
  authority: { kind: 'found', value: Buffer.from(rootCertificates[0] ?? '').toString('base64') },
} as const;

/** The status of a verification that is under way, and of the same one when it has found both sides equal. */
function statusesOf(from: Part): Readonly<Record<'underWay' | 'ended', SyncVerificationStatus>> {
  const [, underWay, ended] = follow(
    [running(idle), running(checking), running(equal, finished)],
    from,
  ).map(({ status }) => status);
  assert.ok(underWay?.startedAt !== undefined && ended?.verdict === 'Equal');
  return { underWay, ended };
}

function consistency(status: SyncVerificationStatus | undefined): string | undefined {
  return findCondition(status?.conditions, 'Consistent')?.status;
}

function argumentsOf({ objects }: Decision): readonly string[] {
  return objects?.statefulSet.spec?.template?.spec?.containers?.[0]?.args ?? [];
}

describe('a SyncVerification', () => {
  it('has a place below for each field of its definition', () => {
    assert.deepEqual(Object.keys(fields).sort(), specFields('syncverifications.yaml'));
  });

  it('is refused another ClusterSync by the API server', () => {
    const { clusterSyncRef } = specSchema('syncverifications.yaml').properties ?? {};
    assert.ok(clusterSyncRef);
    const [first, ...others] = rulesOf(clusterSyncRef);
    assert.deepEqual([first?.rule, others], ['self == oldSelf', []]);
  });

  for (const [name, [outcome, to, from = {}]] of Object.entries({ ...fields, ...wholes })) {
    if (outcome === 'refused') continue;
    it(`that is edited to another ${name} is ${outcome}`, () => {
      const { underWay, ended } = statusesOf(from);
      const isSame = outcome === 'the same run';
      for (const status of [underWay, ended]) {
        const edited = verification(status, to, 2);
        // The former pod has finished, and reports equal for what it was started with.
        const next = decide(edited, running(equal, finished));
        const now = next.status ?? status;
        assert.equal(now.run?.attempt, isSame ? 1 : 2);
        assert.equal(now.verdict, isSame ? 'Equal' : undefined);
        assert.equal(consistency(now), isSame ? 'True' : 'Unknown');
        if (isSame) continue;
        assert.deepEqual([now.completedAt, now.startedAt], [undefined, undefined]);
        assert.ok(argumentsOf(next).includes('--attempt=2'));
        assert.equal(next.command, undefined);
        assert.equal(next.target, undefined);
      }
    });
  }

  for (const [name, [, to, from = {}]] of Object.entries({ ...fields, ...wholes })) {
    it(`that is created again with another ${name} has found nothing`, () => {
      assert.equal(statusesOf(from).ended.verdict, 'Equal');
      const { metadata, ...rest } = verification(undefined, to);
      const created = { ...rest, metadata: { ...metadata, uid: 'other-uid' } };
      // The operator ignores the former one's pods: they belong to another StatefulSet.
      const decision = decide(created, world(finished));
      assert.equal(decision.status?.verdict, undefined);
      assert.equal(consistency(decision.status), 'Unknown');
      const args = argumentsOf(decision);
      assert.ok(args.includes('--verification=other-uid'), 'what is on record is not its own');
      assert.ok(args.includes('--attempt=1'));
    });
  }

  it('is given to a verifier that compares by hashes only where it says so', () => {
    for (const [comparison, isByHashes] of [
      ['Bytes', false],
      ['Hashes', true],
    ] as const) {
      const args = argumentsOf(decide(verification(undefined, { comparison }), world()));
      assert.equal(args.includes('--comparison=hashes'), isByHashes);
    }
  });

  it('says how many documents were compared only by hash', () => {
    const equalText = 'the data of both deployments is equal';
    const byHash = `${equalText}; documents that were compared only by hash: `;
    for (const [comparison, proof, said] of [
      ['Hashes', { documentsHashed: 1234 }, `${byHash}1234. Compared`],
      ['Hashes', { documentsHashed: 0 }, `${equalText}. Compared`],
      ['Hashes', {}, `${byHash}an unknown number. Compared`],
      ['Bytes', {}, `${equalText}. Compared`],
    ] as const) {
      const ended = running({ ...equal, proof }, finished);
      const worlds = [running(idle), running(checking), ended];
      const [, , { status } = {}] = follow(worlds, { comparison });
      const message = findCondition(status?.conditions, 'Consistent')?.message ?? '';
      assert.ok(message.startsWith(said), message);
    }
  });

  it('keeps the run that an operator has recorded which knew no comparison', () => {
    const { ended } = statusesOf({});
    assert.equal(ended.run?.inputsHash, '44136fa355b3678a', 'the hash of no filter');
  });

  it('says what was compared where that is not all that the sync selects', () => {
    for (const [spec, said] of [
      [{}, /^the data of both deployments is equal\. Compared: the sync of/],
      [
        { filter: included },
        /^what spec\.filter selects is equal on both deployments\. Compared: of the sync of/,
      ],
    ] as const) {
      const { ended } = statusesOf(spec);
      assert.match(findCondition(ended.conditions, 'Consistent')?.message ?? '', said);
    }
  });
});
