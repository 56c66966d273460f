import assert from 'node:assert/strict';
import type { ClusterSync } from '../api/clustersync.ts';
import type { SyncVerificationSpec, SyncVerificationStatus } from '../api/sync-verification.ts';
import { findCondition } from '../kube/conditions.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import { clusterSyncIn } from '../testing/clustersyncs.ts';
import { decide, type Decision } from './decide.ts';
import {
  checking,
  committed,
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

/** The status of a verification that has ended. */
function ended(spec: Partial<SyncVerificationSpec> = {}): SyncVerificationStatus {
  const [, end] = follow([running(checking), running(equal, { clusterSync: committed })], spec);
  assert.ok(end?.status?.completedAt !== undefined);
  return end.status;
}

function consistencyOf(status: SyncVerificationStatus | undefined): readonly unknown[] {
  const consistent = findCondition(status?.conditions, 'Consistent');
  return [consistent?.status, consistent?.reason];
}

function argumentsOf({ objects }: Decision): readonly string[] {
  return objects?.statefulSet.spec?.template?.spec?.containers?.[0]?.args ?? [];
}

describe('the filter of a SyncVerification', () => {
  const filter = {
    includeNamespaces: [{ database: 'shop', collections: ['a', 'b'] }],
    excludeNamespaces: [{ databaseRegex: { pattern: '^x$(HOME)$$' } }],
  };

  it('is given to the verifier, in place of that of the sync', () => {
    const syncs = [{}, { includeNamespaces: [{ database: 'other' }] }];
    for (const clusterSync of syncs.map((spec) => clusterSyncIn('changes', spec))) {
      const args = argumentsOf(decide(verification(undefined, { filter }), world({ clusterSync })));
      assert.ok(!args.includes('--verifyAll'));
      for (const [name, value] of Object.entries(filter)) {
        const text = args.find((each) => each.startsWith(`--${name}=`));
        assert.ok(text !== undefined);
        assert.doesNotMatch(text, /\$/, 'a pod would take it for a variable');
        assert.deepEqual(JSON.parse(text.slice(`--${name}=`.length)), value);
      }
    }
  });

  it('begins another run when it is another one, even under the same rerun', () => {
    const status = ended({ rerun: 'a' });
    const { rerun: _, ...spec } = { rerun: 'a', filter };
    for (const each of [{ rerun: 'a', filter }, spec]) {
      const decision = decide(verification(status, each, 4), world({ clusterSync: committed }));
      assert.equal(decision.status?.run?.attempt, 4);
      assert.ok(argumentsOf(decision).includes('--attempt=4'));
    }
  });
});

describe('a SyncVerification of a sync that is reversed', () => {
  const turned = { ...committed, status: { ...committed.status, direction: 'Reverse' } } as const;

  it('compares the other way round, and reports there', () => {
    const first = decide(verification(), world({ clusterSync: turned }));
    const volumes = first.objects?.statefulSet.spec?.template?.spec?.volumes ?? [];
    const secrets = volumes.map(({ name, secret }) => [name, secret?.secretName]);
    assert.deepEqual(secrets.slice(-2), [
      ['source', 'new-uri'],
      ['destination', 'old-uri'],
    ]);
    const [, last] = follow([
      running(idle, { clusterSync: turned }),
      running(equal, { clusterSync: turned }),
    ]);
    assert.equal(last?.status?.report?.uriSecretRef.name, 'old-uri');
  });

  it('ends as it is, though its ClusterSync is gone, once it was told of the end of writes', () => {
    const command = { name: 'writesOff', kind: 'taken', endedMs: nowMs } as const;
    const decisions = follow([
      running(checking, { clusterSync: turned }),
      running(checking, { clusterSync: turned }, { command }),
      running(equal, { clusterSync: undefined }, { command }),
    ]);
    const { run, phase } = decisions.at(-1)?.status ?? {};
    assert.deepEqual([run?.attempt, run?.direction, phase], [1, 'Reverse', 'Succeeded']);
  });

  it('restarts where it is under way, and stays as it is where it has ended', () => {
    const [, checked] = follow([running(idle), running(checking)]);
    const again = decide(verification(checked?.status), running(equal, { clusterSync: turned }));
    assert.deepEqual([again.status?.run?.attempt, again.status?.run?.direction], [2, 'Reverse']);
    assert.equal(again.status?.verdict, undefined);
    assert.match(again.events[0]?.note ?? '', /was reversed/);
    assert.equal(decide(verification(ended()), world({ clusterSync: turned })).objects, undefined);
  });

  it('says nothing any more of data that is synced the other way round since it has ended', () => {
    const { status } = decide(verification(ended()), world({ clusterSync: turned }));
    assert.deepEqual(consistencyOf(status), ['Unknown', 'SyncReplaced']);
    assert.equal(status?.verdict, 'Equal');
    // Reversed again, it is no longer the data that was compared.
    const later = decide(verification(status), world({ clusterSync: committed }));
    assert.equal(later.status, undefined);
  });
});

describe('a SyncVerification of a sync that another one takes the place of', () => {
  const startedAt = (when: string | null, base = committed) => {
    const instances = [{ id: 'old', progress: { state: 'RUNNING', startedAt: when } }];
    return { ...base, status: { ...base.status, instances } };
  };

  it('starts over where it is under way, and not where it has ended', () => {
    const first = startedAt('first');
    const [, checked] = follow([
      running(idle, { clusterSync: first }),
      running(checking, { clusterSync: first }),
    ]);
    assert.equal(checked?.status?.run?.syncStartedAt, 'first');
    const second = startedAt('second');
    const again = decide(verification(checked.status), running(equal, { clusterSync: second }));
    assert.deepEqual([again.status?.run?.attempt, again.status?.run?.syncStartedAt], [2, 'second']);
    assert.equal(again.status?.verdict, undefined);
    assert.match(again.events[0]?.note ?? '', /another sync has replaced/);

    const [, end] = follow([
      running(checking, { clusterSync: first }),
      running(equal, { clusterSync: first }),
    ]);
    assert.equal(end?.status?.verdict, 'Equal');
    const later = decide(verification(end.status), world({ clusterSync: second }));
    assert.equal(later.objects, undefined);
    assert.equal(later.status?.completedAt, end.status.completedAt);
  });

  function endOf(progress: object, clusterSync: ClusterSync): SyncVerificationStatus {
    const [, end] = follow([
      running(checking, { clusterSync }),
      running(progress, { clusterSync }),
    ]);
    assert.ok(end?.status?.completedAt !== undefined);
    return end.status;
  }

  it('names the sync of which it has ended', () => {
    for (const [progress, found] of [
      [equal, 'True'],
      [different, 'False'],
    ] as const) {
      const { conditions } = endOf(progress, startedAt('first'));
      const { status, message } = findCondition(conditions, 'Consistent') ?? {};
      assert.equal(status, found);
      assert.match(
        message ?? '',
        /\. Compared: the sync of the ClusterSync orders \(uid sync-uid\), started first, until 2026-01-01T12:00:00Z$/,
      );
    }
  });

  it('says nothing of another sync when it has ended, whatever becomes of that', () => {
    for (const progress of [equal, different]) {
      const end = endOf(progress, startedAt('first'));
      for (const same of [undefined, startedAt('first'), startedAt(null)]) {
        const { status } = decide(verification(end), world({ clusterSync: same }));
        assert.equal(status, undefined);
      }
      const second = world({ clusterSync: startedAt('second') });
      const { status, events, objects } = decide(verification(end), second);
      assert.deepEqual(consistencyOf(status), ['Unknown', 'SyncReplaced']);
      const { message = '' } = findCondition(status?.conditions, 'Consistent') ?? {};
      assert.match(message, /^another sync .*spec\.rerun.*started first/);
      assert.equal(status?.verdict, end.verdict);
      assert.equal(status?.completedAt, end.completedAt);
      assert.deepEqual(
        events.map(({ reason }) => reason),
        ['SyncReplaced'],
      );
      assert.equal(objects, undefined);
      const again = decide(verification(status), second);
      assert.equal(again.status, undefined);
      assert.deepEqual(again.events, []);
    }
  });

  it('says nothing while its ClusterSync has no sync, or not yet', () => {
    const first = startedAt('first');
    const end = endOf(equal, first);
    const made = { ...first, metadata: { ...first.metadata, uid: 'other' }, status: {} };
    const { status } = decide(verification(end), world({ clusterSync: made }));
    assert.deepEqual(consistencyOf(status), ['Unknown', 'NoSync']);
    assert.equal(decide(verification(status), world({ clusterSync: made })).status, undefined);
    // The same sync, continued by a ClusterSync that was created again.
    const back = decide(verification(status), world({ clusterSync: first })).status;
    assert.deepEqual(consistencyOf(back), ['True', 'Equal']);
  });

  it('knows the sync of a tool that does not tell when it was started by what the operator has seen', () => {
    const seenAt = (when: string): ClusterSync => {
      const instances = [{ id: 'old', progress: { state: 'COMMITTED' } }];
      return { ...committed, status: { ...committed.status, instances, startedAt: when } };
    };
    const end = endOf(equal, seenAt('2026-01-01T00:00:00Z'));
    assert.equal(end.run?.syncStartedAt, '2026-01-01T00:00:00Z');
    const other = world({ clusterSync: seenAt('2026-01-02T00:00:00Z') });
    const { status } = decide(verification(end), other);
    assert.deepEqual(consistencyOf(status), ['Unknown', 'SyncReplaced']);
  });

  it('is about the sync that there is at its check, and about no other after that', () => {
    const [made, checked] = follow([
      running(idle, { clusterSync: startedAt(null) }),
      running(checking, { clusterSync: startedAt('first') }),
    ]);
    assert.deepEqual(
      [made?.status?.run?.attempt, made?.status?.run?.syncStartedAt],
      [1, undefined],
    );
    assert.deepEqual(
      [checked?.status?.run?.attempt, checked?.status?.run?.syncStartedAt],
      [1, 'first'],
    );
    assert.ok(!checked?.events.some(({ reason }) => reason === 'Rerun'));
    // While there is no ClusterSync, or its syncer has not answered, the run is still about the same sync.
    for (const clusterSync of [undefined, startedAt(null)]) {
      const { status } = decide(verification(checked?.status), running(checking, { clusterSync }));
      assert.equal(status?.run?.attempt, 1);
      assert.equal(status.run.syncStartedAt, 'first');
    }
  });
});

describe('the rerun of a SyncVerification', () => {
  const again = { rerun: 'again' };

  it('starts a verification over that has ended', () => {
    const status = ended();
    const decision = decide(verification(status, again, 2), world({ clusterSync: committed }));
    assert.equal(
      phaseAndConditions(decision),
      'Starting False PodPending Reconciling False/Unknown',
    );
    const { run, verdict, completedAt, startedAt, verificationStatus } = decision.status ?? {};
    assert.equal(run?.rerun, 'again');
    assert.equal(run.attempt, 2);
    assert.deepEqual(
      [verdict, completedAt, startedAt, verificationStatus],
      Array(4).fill(undefined),
    );
    assert.ok(argumentsOf(decision).includes('--attempt=2'));
    assert.deepEqual(
      decision.events.map(({ reason }) => reason),
      ['Rerun'],
    );
  });

  it('starts a verification over that is under way, and hears nothing from the former pod', () => {
    const [, checked] = follow([running(idle), running(checking)]);
    const changed = verification(checked?.status, again, 2);
    const first = decide(changed, running(equal, { clusterSync: committed }));
    assert.equal(first.status?.verdict, undefined);
    assert.equal(first.target, undefined);
    assert.equal(first.command, undefined);
    assert.match(findCondition(first.status?.conditions, 'Ready')?.message ?? '', /previous run/);
    const second = decide(
      { ...changed, ...(first.status && { status: first.status }) },
      running(idle, { clusterSync: committed }, {}, 2),
    );
    assert.equal(second.command?.name, 'check');
    assert.deepEqual(second.events, []);
  });

  it('is a run of its own that ends by itself', () => {
    const [, , last] = follow(
      [running(idle), running(checking), running(different, { clusterSync: committed })],
      again,
    );
    assert.ok(last);
    assert.equal(phaseAndConditions(last), 'Failed True Completed True/False');
    assert.equal(last.status?.run?.rerun, 'again');
  });

  const kept: readonly (readonly [
    string,
    Partial<SyncVerificationSpec>,
    Partial<SyncVerificationSpec>,
  ])[] = [
    ['it is what it was', again, again],
    ['it is taken away', again, {}],
    ['there is none', {}, {}],
    ['something else is changed', again, { ...again, parallelism: 5, ttlSecondsAfterFinished: 7 }],
  ];
  for (const [what, before, after] of kept) {
    it(`does not start over when ${what}`, () => {
      const decision = decide(
        verification(ended(before), after, 9),
        world({ clusterSync: committed }),
      );
      assert.equal(decision.status, undefined);
      assert.equal(decision.objects, undefined);
    });
  }

  it('keeps the number of the run when something else is changed meanwhile', () => {
    const [first] = follow([world()]);
    const decision = decide(verification(first?.status, { parallelism: 5 }, 2), running(checking));
    assert.ok(argumentsOf(decision).includes('--attempt=1'));
    assert.equal(decision.objects?.statefulSet.spec?.replicas, 5);
    assert.equal(decision.status?.observedGeneration, 2);
    assert.equal(decision.status.run?.attempt, 1);
  });
});

describe('the ttl of a SyncVerification', () => {
  const endedMs = nowMs;
  const cases: readonly (readonly [
    ttlSeconds: number | undefined,
    afterMs: number,
    isExpired: boolean,
    requeueAfterMs: number | undefined,
  ])[] = [
    [undefined, 1e12, false, undefined],
    [0, 0, true, undefined],
    [60, 0, false, 60_000],
    [60, 59_999, false, 1],
    [60, 60_000, true, undefined],
    [2 ** 31 - 1, 1000, false, (2 ** 31 - 1) * 1000 - 1000],
  ];
  for (const [ttl, afterMs, isExpired, requeueAfterMs] of cases) {
    it(`of ${ttl ?? 'nothing'} is ${isExpired ? 'over' : 'not over'} after ${afterMs} ms`, () => {
      const spec = ttl === undefined ? {} : { ttlSecondsAfterFinished: ttl };
      const decision = decide(verification(ended(), spec), world({ nowMs: endedMs + afterMs }));
      assert.equal(decision.isExpired, isExpired);
      assert.equal(decision.requeueAfterMs, requeueAfterMs);
    });
  }

  it('does not end what has not ended, or is to run again', () => {
    const spec = { ttlSecondsAfterFinished: 0 };
    const decisions = follow([running(checking), running(equal, { clusterSync: committed })], spec);
    for (const decision of decisions) assert.equal(decision.isExpired, false);
    const again = { ...spec, rerun: 'again' };
    assert.equal(decide(verification(ended(), again, 2), world()).isExpired, false);
  });

  it('counts from the end without a verdict, too', () => {
    const spec = { ttlSecondsAfterFinished: 0 };
    const [, end] = follow([running(checking), running({ ...checking, error: 'CheckFailed: no' })]);
    assert.equal(decide(verification(end?.status, spec), world({ statefulSet })).isExpired, true);
  });

  it('does not delete twice what somebody holds back', () => {
    const spec = { ttlSecondsAfterFinished: 0 };
    const { metadata, ...rest } = verification(ended(), spec);
    const deletionTimestamp = '2026-01-01T12:00:00Z';
    const decision = decide({ ...rest, metadata: { ...metadata, deletionTimestamp } }, world());
    assert.equal(decision.isExpired, false);
  });
});

describe('what a SyncVerification tells of the mismatches', () => {
  const found = {
    ...different,
    mismatchCount: 7,
    mismatchKinds: [
      { kind: 'differentIndex', count: 1 },
      { kind: 'missingDocument', count: 6 },
    ],
    mismatchNamespaces: [
      { namespace: 'shop.orders', count: 5 },
      { namespace: 'shop.items', count: 2 },
    ],
    mismatches: [{ namespace: 'shop.orders', kind: 'missingDocument', id: '"secret"' }],
  };

  function endWith(progress: object): SyncVerificationStatus {
    const [, end] = follow([running(checking), running(progress, { clusterSync: committed })]);
    assert.ok(end?.status);
    return end.status;
  }

  it('is how many there are, of which kinds and where, and never an _id', () => {
    const status = endWith(found);
    assert.deepEqual(status.mismatches, {
      total: 7,
      byKind: found.mismatchKinds,
      namespaces: found.mismatchNamespaces,
    });
    assert.match(
      findCondition(status.conditions, 'Consistent')?.message ?? '',
      /^7 mismatches: 6 missingDocument, 1 differentIndex; in shop\.orders 5, shop\.items 2\. Compared: /,
    );
    assert.doesNotMatch(JSON.stringify(status), /secret/);
    assert.equal(status.verifier?.progress?.['mismatchCount'], 7);
  });

  it('says where the report is', () => {
    assert.deepEqual(endWith(found).report, {
      verification: 'check-uid',
      uriSecretRef: { name: 'new-uri', key: 'connection' },
      command:
        'clustersync verifier report --metaURIFile=<file with the connection string> --verification=check-uid',
    });
  });

  it('has only what the schema has room for', () => {
    const namespaces = Array.from({ length: 30 }, (_, n) => ({ namespace: `db.c${n}`, count: 1 }));
    const status = endWith({
      ...found,
      mismatchKinds: [...found.mismatchKinds, { kind: 'x'.repeat(65), count: 1 }, 'y', null],
      mismatchNamespaces: [{ namespace: 'a', count: 'many' }, ...namespaces, ...namespaces],
    });
    assert.equal(status.mismatches?.byKind?.length, 2);
    assert.deepEqual(status.mismatches.namespaces, namespaces.slice(0, 10));
  });

  it('is nothing with a tool that tells nothing', () => {
    const status = endWith(different);
    assert.equal(status.mismatches, undefined);
    assert.match(findCondition(status.conditions, 'Consistent')?.message ?? '', /2 of 5 tasks/);
  });
});
