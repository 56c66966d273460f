import assert from 'node:assert/strict';
import { findCondition } from '../kube/conditions.ts';
import { nowMs, runningImage, runningOperandPod } from '../operand/testing/running-pod.ts';
import { tokenArgument } from '../operand/workload.ts';
import { clusterSyncIn } from '../testing/clustersyncs.ts';
import { decide, type World } from './decide.ts';
import {
  checking,
  committed,
  counts,
  different,
  equal,
  follow,
  idle,
  phaseAndConditions,
  running,
  statefulSet,
  verification,
  world,
} from './testing/worlds.ts';

describe('a SyncVerification', () => {
  it('waits for its ClusterSync', () => {
    const decision = decide(verification(), world({ clusterSync: undefined }));
    assert.equal(
      phaseAndConditions(decision),
      'Pending False ClusterSyncNotFound Reconciling False/Unknown',
    );
    assert.equal(decision.objects, undefined);
  });

  it('waits for the end of the initial copy', () => {
    const decision = decide(verification(), world({ clusterSync: clusterSyncIn('copy') }));
    assert.equal(
      phaseAndConditions(decision),
      'Pending False WaitingForInitialCopy Reconciling False/Unknown',
    );
    assert.equal(decision.objects, undefined);
  });

  it('says what to do when the node of its pod does not confirm that the pod has ended', () => {
    const pod = runningOperandPod('verifier', 'check-verifier-0', ['--attempt=1']);
    const metadata = { ...pod.metadata, deletionTimestamp: new Date(nowMs - 60_000).toISOString() };
    const lost = { ...pod, metadata, spec: { containers: [], ...pod.spec, nodeName: 'node-7' } };
    const decision = decide(verification(), world({ statefulSet, pod: lost }));
    assert.equal(
      phaseAndConditions(decision),
      'Starting False NodeUnresponsive Stalled False/Unknown',
    );
  });

  it('starts the verifier with the connection strings of the sync', () => {
    const { objects } = decide(verification(), world());
    const [container] = objects?.statefulSet.spec?.template?.spec?.containers ?? [];
    assert.equal(objects?.statefulSet.spec?.replicas, 3);
    assert.deepEqual(container?.args?.slice(0, 7), [
      'verifier',
      '--verifyAll',
      '--srcURIFile=/etc/clustersync/source/uri',
      '--destURIFile=/etc/clustersync/destination/uri',
      '--metaURIFile=/etc/clustersync/destination/uri',
      '--verification=check-uid',
      '--attempt=1',
    ]);
    assert.ok(container.args.includes(tokenArgument('token')));
  });

  it('gives the verifier the credentials of the sync, and tells how to read the report with them', () => {
    const given = clusterSyncIn('changes');
    const { source, destination } = given.spec;
    const ref = { name: 'authority', key: 'ca.crt' };
    const client = { clientCertificateSecretRef: { name: 'client' } };
    const key = { name: 'login', key: 'value' };
    const auth = { userSecretRef: key, passwordSecretRef: key };
    const spec = {
      ...given.spec,
      source: { ...source, tls: { caSecretRef: ref } },
      destination: {
        ...{ ...destination, auth },
        tls: { ...client, caConfigMapRef: ref, serverName: 'db.example' },
      },
    };
    const secured = { ...given, spec };
    const { objects } = decide(verification(), world({ clusterSync: secured }));
    const [container] = objects?.statefulSet.spec?.template?.spec?.containers ?? [];
    assert.deepEqual(
      (container?.args ?? []).filter((arg) =>
        /^--\w+(?:(?:User|Password|Ca|Certificate|Key)File|ServerName)=/.test(arg),
      ),
      [
        '--srcCaFile=/etc/clustersync/source-ca/ca.crt',
        '--destUserFile=/etc/clustersync/destination-user/user',
        '--metaUserFile=/etc/clustersync/destination-user/user',
        '--destPasswordFile=/etc/clustersync/destination-password/password',
        '--metaPasswordFile=/etc/clustersync/destination-password/password',
        '--destCaFile=/etc/clustersync/destination-ca/ca.crt',
        '--metaCaFile=/etc/clustersync/destination-ca/ca.crt',
        '--destCertificateFile=/etc/clustersync/destination-certificate/tls.crt',
        '--metaCertificateFile=/etc/clustersync/destination-certificate/tls.crt',
        '--destKeyFile=/etc/clustersync/destination-certificate/tls.key',
        '--metaKeyFile=/etc/clustersync/destination-certificate/tls.key',
        '--destServerName=db.example',
        '--metaServerName=db.example',
      ],
    );
    const { status } = decide(verification(), running(checking, { clusterSync: secured }));
    assert.equal(
      status?.report?.command,
      'clustersync verifier report --metaURIFile=<file with the connection string> --metaUserFile=<file with the user> --metaPasswordFile=<file with the password> --metaCaFile=<file with its authorities> --metaCertificateFile=<its tls.crt> --metaKeyFile=<its tls.key> --metaServerName=db.example --verification=check-uid',
    );
  });

  it('says which image compares, and which has compared when it has ended', () => {
    const [first, last] = follow([running(checking), running(equal, { clusterSync: committed })]);
    assert.equal(first?.status?.verifier?.image, runningImage);
    assert.equal(last?.status?.verifier?.image, runningImage);
    assert.ok(last.status.completedAt !== undefined);
    assert.equal(decide(verification(), world()).status?.verifier?.image, undefined);
  });

  it('compares what the sync selects', () => {
    const database = [{ database: 'a' }];
    for (const selection of [{ includeNamespaces: database }, { excludeNamespaces: database }]) {
      const filtered = clusterSyncIn('changes', selection);
      const { objects } = decide(verification(), world({ clusterSync: filtered }));
      const [container] = objects?.statefulSet.spec?.template?.spec?.containers ?? [];
      assert.ok(container?.args && !container.args.includes('--verifyAll'));
    }
  });

  it('makes nothing, and sends nothing, while it is being deleted', () => {
    const { metadata, ...rest } = verification();
    const deleted = {
      ...rest,
      metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    };
    for (const given of [world(), running(idle)]) {
      const { objects, command } = decide(deleted, given);
      assert.deepEqual([objects, command], [undefined, undefined]);
    }
  });

  it('tells it to check, once', () => {
    const taken = { name: 'check', kind: 'taken', endedMs: nowMs - 50 } as const;
    const [first, second, third] = follow([
      running(idle),
      running(idle, {}, { command: taken }),
      running(checking),
    ]);
    assert.equal(first?.command?.name, 'check');
    assert.ok(second && third);
    assert.equal(second.command, undefined);
    assert.equal(second.status?.verifier?.checkSentAt, '2026-01-01T11:59:59Z');
    assert.equal(third.command, undefined);
    assert.equal(phaseAndConditions(third), 'Checking False Checking Reconciling False/Unknown');
    assert.deepEqual(third.status?.verificationStatus, { totalTasks: 5 });
  });

  it('does not take idle for a verdict', () => {
    const taken = { name: 'check', kind: 'taken', endedMs: nowMs - 50 } as const;
    const [, decision] = follow([running(idle), running(idle, {}, { command: taken })]);
    assert.equal(decision?.status?.completedAt, undefined);
  });

  it('tells a restarted verifier to check again', () => {
    const [, decision] = follow([running(checking), running(idle, {}, { process: 'another' })]);
    assert.equal(decision?.command, undefined, 'the pod has not been seen with the new process');
    const world = running(idle);
    assert.ok(world.pod);
    const restarted = {
      ...world,
      pod: { ...world.pod, metadata: { ...world.pod.metadata, uid: 'new' } },
      observation: world.observation && { ...world.observation, process: 'new/containerd://1' },
    };
    const [, again] = follow([running(checking), restarted]);
    assert.equal(again?.command?.name, 'check');
    assert.equal(again.status?.startedAt, '2026-01-01T12:00:00Z');
  });

  it('says that writes are off when the sync is committed, once', () => {
    const taken = { name: 'writesOff', kind: 'taken', endedMs: nowMs } as const;
    const [, second, third] = follow([
      running(checking),
      running(checking, { clusterSync: committed }),
      running(checking, { clusterSync: committed }, { command: taken }),
    ]);
    assert.equal(second?.command?.name, 'writesOff');
    assert.ok(third);
    assert.equal(third.command, undefined);
    assert.equal(phaseAndConditions(third), 'Finishing False Finishing Reconciling False/Unknown');
  });

  it('says that its ClusterSync is gone, unless it was told of the end of writes', () => {
    const taken = { name: 'writesOff', kind: 'taken', endedMs: nowMs } as const;
    const [, gone, back] = follow([
      running(checking),
      running(checking, { clusterSync: undefined }),
      running(checking),
    ]);
    assert.ok(gone && back);
    assert.equal(
      phaseAndConditions(gone),
      'Checking False ClusterSyncNotFound Reconciling False/Unknown',
    );
    assert.equal(phaseAndConditions(back), 'Checking False Checking Reconciling False/Unknown');
    const [, , told, ended] = follow([
      running(checking),
      running(checking, { clusterSync: committed }, { command: taken }),
      running(checking, { clusterSync: undefined }, { command: taken }),
      running(equal, { clusterSync: undefined }, { command: taken }),
    ]);
    assert.ok(told && ended);
    assert.equal(phaseAndConditions(told), 'Finishing False Finishing Reconciling False/Unknown');
    assert.equal(phaseAndConditions(ended), 'Succeeded True Completed True/True');
  });

  it('does not say so before it was told to check', () => {
    const decision = decide(verification(), running(idle, { clusterSync: committed }));
    assert.equal(decision.command?.name, 'check');
  });

  it('ends Succeeded when the data is equal', () => {
    const [, decision] = follow([running(checking), running(equal, { clusterSync: committed })]);
    assert.ok(decision);
    assert.equal(phaseAndConditions(decision), 'Succeeded True Completed True/True');
    assert.equal(decision.status?.verdict, 'Equal');
    assert.equal(decision.status.completedAt, '2026-01-01T12:00:00Z');
    assert.deepEqual(decision.status.verificationStatus, counts);
    assert.deepEqual(
      decision.events.map(({ type, reason }) => `${type} ${reason}`),
      ['Normal Succeeded'],
    );
  });

  it('ends Failed when the data is different, which is no failure of the check', () => {
    const [, decision] = follow([
      running(checking),
      running(different, { clusterSync: committed }),
    ]);
    assert.ok(decision);
    assert.equal(phaseAndConditions(decision), 'Failed True Completed True/False');
    assert.equal(decision.status?.verdict, 'Different');
    assert.match(findCondition(decision.status.conditions, 'Consistent')?.message ?? '', /2 of 5/);
    assert.deepEqual(
      decision.events.map(({ type, reason }) => `${type} ${reason}`),
      ['Warning Different'],
    );
  });

  it('ends Failed and Stalled when the check cannot continue', () => {
    const broken = { ...checking, error: 'OplogRolledOver: too late' };
    const [, decision] = follow([running(checking), running(broken)]);
    assert.ok(decision);
    assert.equal(
      phaseAndConditions(decision),
      'Failed False OplogRolledOver Stalled False/Unknown',
    );
    assert.equal(decision.status?.verdict, undefined);
  });

  it('does not take it for equal that a tool without a verdict has found nothing', () => {
    const { verdict: _, ...plain } = equal;
    const taken = { name: 'writesOff', kind: 'taken', endedMs: nowMs - 10_000 } as const;
    const later = { command: taken, askedMs: nowMs } as const;
    const [, before, after] = follow([
      running(checking),
      running(plain, { clusterSync: committed }),
      running(plain, { clusterSync: committed }, later),
    ]);
    assert.equal(before?.status?.completedAt, undefined);
    assert.ok(after);
    assert.equal(phaseAndConditions(after), 'Failed False NoVerdict Stalled False/Unknown');
    assert.equal(after.status?.verdict, undefined);
    assert.equal(after.status?.completedAt, '2026-01-01T12:00:00Z');
    const { message = '' } = findCondition(after.status.conditions, 'Stalled') ?? {};
    assert.match(message, /0 of 5 tasks have failed, and it reports no verdict/);
    const wrong = { ...plain, verificationStatus: { ...counts, metadataMismatchTasks: 1 } };
    const [, , other] = follow([
      running(checking),
      running(plain, { clusterSync: committed }),
      running(wrong, { clusterSync: committed }, later),
    ]);
    assert.equal(other?.status?.verdict, 'Different');
  });

  it('does not make a verdict of a word that it does not know, or that the counts deny', () => {
    for (const [verdict, verificationStatus] of [
      ['inconclusive', counts],
      ['equal', { ...counts, failedTasks: 1 }],
      ['equal', { ...counts, metadataMismatchTasks: 1 }],
    ] as const) {
      const said = { ...equal, verdict, verificationStatus };
      const [, end] = follow([running(checking), running(said, { clusterSync: committed })]);
      assert.ok(end);
      assert.equal(phaseAndConditions(end), 'Failed False NoVerdict Stalled False/Unknown');
      assert.equal(end.status?.verdict, undefined);
    }
  });

  it('says that what the verifier reports is not the latest, and takes it for no more', () => {
    const asOf = '2026-01-01T11:00:00.000Z';
    const [, decision, later] = follow([
      running(checking),
      running({ ...checking, asOf }),
      running({ ...checking, asOf: null }),
    ]);
    assert.ok(decision && later);
    assert.equal(
      phaseAndConditions(decision),
      'Checking False ProgressNotLatest Reconciling False/Unknown',
    );
    const { message = '' } = findCondition(decision.status?.conditions, 'Ready') ?? {};
    assert.match(message, /its progress is as of 2026-01-01T11:00:00\.000Z/);
    assert.deepEqual(
      decision.events.map(({ reason }) => reason),
      ['ProgressNotLatest'],
    );
    assert.equal(phaseAndConditions(later), 'Checking False Checking Reconciling False/Unknown');
  });

  it('names the warnings of the verifier while it works, as long as they are the latest', () => {
    const warnings = [
      'task: trying again for 12 s: no primary',
      'metadata store: waiting for 11 s',
    ];
    const asOf = new Date(nowMs).toISOString();
    const messages = follow([
      running({ ...checking, warnings }),
      running({ ...checking, warnings, asOf }),
      running({ ...checking, warnings: [] }),
    ]).map(({ status }) => findCondition(status?.conditions, 'Reconciling')?.message);
    const busy =
      'the data is being compared; the verification ends after the commit of the ClusterSync orders';
    assert.deepEqual(messages, [`${busy}. Warnings: ${warnings.join('; ')}`, busy, busy]);
  });

  it('says nothing of a metadata store that takes some seconds for each answer', () => {
    const conditionsAfter = (agoMs: number): string => {
      const asOf = new Date(nowMs - agoMs).toISOString();
      const [, decision] = follow([running(checking), running({ ...checking, asOf })]);
      assert.ok(decision);
      return phaseAndConditions(decision);
    };
    assert.equal(conditionsAfter(14_999), 'Checking False Checking Reconciling False/Unknown');
    assert.equal(
      conditionsAfter(15_000),
      'Checking False ProgressNotLatest Reconciling False/Unknown',
    );
  });

  it('removes the pod when the result is on record, and then changes nothing any more', () => {
    const [, end] = follow([running(checking), running(equal, { clusterSync: committed })]);
    assert.ok(end?.status);
    assert.equal(end.remove, undefined);
    const after = decide(verification(end.status), running(checking, { clusterSync: undefined }));
    assert.equal(after.remove, statefulSet);
    assert.equal(after.status, undefined);
    assert.equal(after.objects, undefined);
    assert.equal(after.target, undefined);
    assert.equal(decide(verification(end.status), world()).remove, undefined);
  });

  const uri = 'mongodb://admin:secret@db/';
  const description = `cannot reach ${uri}`;
  const told: readonly (readonly [string, World])[] = [
    [
      'why the verifier does not answer',
      running(undefined, {}, { unreachable: { sinceMs: 0, description } }),
    ],
    ['its error', running({ ...checking, error: description })],
    ['the progress of another tool', running({ ...checking, info: { [uri]: [uri] } })],
    [
      'the API server',
      world({ rejection: { reason: 'X', message: description, level: 'warning' } }),
    ],
  ];
  for (const [who, each] of told) {
    it(`keeps connection strings out, by whomever they are told: ${who}`, () => {
      const status = JSON.stringify(decide(verification(), each).status);
      assert.match(status, /<credentials>/);
      assert.doesNotMatch(status, /secret/);
    });
  }

  it('keeps 16 KiB of the progress of a verifier, and of its counts, and says how much it leaves out', () => {
    const long = 'x'.repeat(100 * 1024);
    const more = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`count${n}`, n]));
    const { status } = decide(
      verification(),
      running({ ...checking, info: long, verificationStatus: { totalTasks: 5, ...more } }),
    );
    assert.ok(JSON.stringify(status).length < 40 * 1024);
    const { omittedFields, ...kept } = status?.verificationStatus ?? {};
    assert.equal(Number(omittedFields) + Object.keys(kept).length, 5_001);
    assert.equal(kept.totalTasks, 5);
    assert.equal(status?.verifier?.progress?.['omittedFields'], 2);
    assert.equal(status.verifier.progress['phase'], 'check');
  });

  it('keeps of the counts of a verifier what is a count', () => {
    const verificationStatus = { totalTasks: 5, failedTasks: 'two', addedTasks: 1e300, note: '' };
    const { status } = decide(verification(), running({ ...checking, verificationStatus }));
    assert.deepEqual(status?.verificationStatus, { totalTasks: 5 });
  });

  it('is stalled by a wrong password', () => {
    const decision = decide(
      verification(),
      running(
        undefined,
        {},
        {
          answer: {
            kind: 'error',
            error: { name: 'AuthenticationFailed', description: 'no', isLasting: true },
          },
        },
      ),
    );
    assert.equal(
      phaseAndConditions(decision),
      'Starting False AuthenticationFailed Stalled False/Unknown',
    );
    assert.equal(decision.status?.verifier?.error, 'AuthenticationFailed: no');
    assert.equal(decision.command, undefined);
  });
});
