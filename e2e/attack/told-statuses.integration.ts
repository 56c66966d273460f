import assert from 'node:assert/strict';
import { clusterSyncs } from '../../operator/api/clustersync.ts';
import { syncVerifications } from '../../operator/api/sync-verification.ts';
import { decide } from '../../operator/clustersync/decide.ts';
import { keptFindings } from '../../operator/clustersync/kept-findings.ts';
import {
  answers,
  changed,
  clusterSync,
  failure,
  observationOf,
  progress,
  runningPod,
  runningWorld,
} from '../../operator/clustersync/testing/worlds.ts';
import type { KubeClient } from '../../operator/kube/client.ts';
import { KubeError } from '../../operator/kube/kube-error.ts';
import type { KubeObject, Resource } from '../../operator/kube/resource.ts';
import { decide as decideVerification } from '../../operator/verification/decide.ts';
import {
  checking,
  counts,
  running,
  verification,
} from '../../operator/verification/testing/worlds.ts';
import { readFindings } from '../../sync-api/check-answer.ts';
import { useApiServer } from '../integration/kube/use-api-server.ts';
import { installDefinitions, smallestSpec } from '../integration/operator/custom-resources.ts';

const signal = new AbortController().signal;
const long = 'x'.repeat(200_000);
const error = (name: string, description: string) =>
  ({ ...failure(name), error: { name, description, isLasting: true } }) as const;

/** What a pod may answer to the question for its progress. */
const toldProgress = {
  'a lag beyond all numbers': changed(answers.changes, { lagTimeSeconds: 1e300 }),
  'a lag of less than nothing': changed(answers.changes, { lagTimeSeconds: -1e300 }),
  'bytes beyond all numbers': changed(answers.copy, {
    collectionCopy: { estimatedTotalBytes: 1e300, estimatedCopiedBytes: 1e300 },
  }),
  'a coordinator with a long name': changed(answers.changes, { coordinatorID: long }),
  'a long error': error('SomethingElse', long),
  'a long error of many bytes': error('SomethingElse', '\u{1F480}'.repeat(60_000)),
  'times of no calendar': changed(answers.changes, { startedAt: '+275760-09-13T00:00:00.001Z' }),
  'fields of other types': changed(answers.changes, {
    ...{
      canCommit: 'yes',
      canWrite: 1,
      lagTimeSeconds: '2',
      coordinatorID: {},
      warnings: { a: 1 },
    },
  }),
} as const;

/** What it may answer to the question what the source is. */
const toldSources = {
  'shards of one name': { kind: 'Sharded', shards: ['one', 'one'] },
  'a replica set of many': {
    kind: 'ReplicaSet',
    shards: Array.from({ length: 300 }, (_, index) => `set-${index}`),
  },
  'a replica set with a long name': { kind: 'ReplicaSet', shards: [long] },
  'shards with long names': { kind: 'Sharded', shards: [long, 'two'] },
} as const;

/** What it may answer to the question what a start would find. */
const toldFindings = {
  'many findings': Array.from({ length: 5_000 }, () => foundAs('x')),
  'a long finding': [foundAs(long)],
  'findings of many bytes': Array.from({ length: 200 }, () => foundAs('<'.repeat(10_000))),
  'findings that control a terminal': [foundAs('\u001b[2J\u0000\u202e\r\n')],
} as const;

function foundAs(text: string): object {
  const namespaces = Array.from({ length: 5 }, () => text);
  const texts = { name: `A${text}`, message: text, action: text, namespaces };
  return { severity: 'blocker', side: 'source', ...texts };
}

/** A dry run, once its syncer has answered. */
function dryRun(findings: readonly object[], given = clusterSync({ dryRun: true })) {
  const world = runningWorld(answers.idle, { check: { kind: 'unknown' } });
  const { check } = decide(given, world);
  assert.ok(check);
  const kept = keptFindings(readFindings(findings));
  const { inputsHash, target } = check;
  const asked = { inputsHash, process: target.process, askedMs: world.nowMs };
  return decide(given, {
    ...world,
    check: { kind: 'found', canStart: false, ...kept, ...asked },
  }).status;
}

/** What a verifier may answer. */
const toldVerifications = {
  'counts of other types': { totalTasks: 'five', failedTasks: 0.5, addedTasks: null },
  'counts beyond all numbers': { totalTasks: 1e300, completedTasks: -1e300 },
} as const;

describe('what a pod says, in a status on a real API server', () => {
  let client: KubeClient;
  let made = 0;

  useApiServer(async (_server, itsClient) => {
    client = itsClient;
    await installDefinitions(client);
  });

  /** @returns what is stored; why it is refused where it is. */
  async function store(
    resource: Resource<KubeObject>,
    spec: object,
    status: object,
  ): Promise<unknown> {
    const metadata = { namespace: 'default', name: `told-${made++}` };
    await client.create<KubeObject>(resource, { metadata, spec } as never, { signal });
    try {
      const answer = await client.applyStatus<KubeObject>(resource, { metadata, status } as never, {
        signal,
      });
      return Reflect.get(answer, 'status');
    } catch (refusal) {
      if (refusal instanceof KubeError) return refusal.message.slice(0, 500);
      throw refusal;
    }
  }

  for (const [what, answer] of Object.entries(toldProgress)) {
    it(`is taken: ${what}`, async () => {
      const { status } = decide(clusterSync(), runningWorld(answer));
      assert.deepEqual(await store(clusterSyncs, smallestSpec, status), status);
    });
  }

  for (const [what, source] of Object.entries(toldSources)) {
    it(`is taken, or named as what cannot be: ${what}`, async () => {
      const sourceView = { kind: 'found', source } as const;
      const { status } = decide(clusterSync({}, {}), runningWorld(undefined, { sourceView }));
      assert.deepEqual(await store(clusterSyncs, smallestSpec, status), status);
      // As it is with what is on record by now.
      const next = decide(clusterSync({}, status), runningWorld(undefined, { sourceView })).status;
      assert.deepEqual(await store(clusterSyncs, smallestSpec, next), next);
    });
  }

  for (const [what, findings] of Object.entries(toldFindings)) {
    it(`is taken from a check: ${what}`, async () => {
      const status = dryRun(findings);
      assert.ok((status.preflight?.length ?? 0) > 0);
      assert.deepEqual(await store(clusterSyncs, smallestSpec, status), status);
    });
  }

  for (const [what, verificationStatus] of Object.entries(toldVerifications)) {
    it(`is taken from a verifier: ${what}`, async () => {
      const first = decideVerification(verification(), running(checking)).status;
      const told = running({ ...checking, verificationStatus });
      const { status } = decideVerification(verification(first), told);
      assert.ok(status);
      const spec = { clusterSyncRef: { name: 'orders' } };
      assert.deepEqual(await store(syncVerifications, spec, status), status);
    });
  }

  for (const letter of ['<', '\u2028', '\u0001', '\u{1F480}']) {
    it(`has room in one object with all others, of 256 syncers that say as much as they may, of ${Buffer.from(letter).toString('hex')}`, async () => {
      const ids = Array.from({ length: 256 }, (_, index) => `shard-${index}`);
      const sharded = {
        ...dryRun(Array.from({ length: 500 }, () => foundAs(letter.repeat(3_000)))),
        source: { kind: 'Sharded', shards: ids },
      } as const;
      const pods = new Map(
        ids.map((_, index) => {
          const name = `orders-syncer-${index}`;
          return [name, runningPod(name, ids)];
        }),
      );
      const said = progress({ ...answers.changes.progress.raw, note: letter.repeat(3_000) });
      const world = (answer: Parameters<typeof observationOf>[0]) =>
        runningWorld(undefined, {
          sourceView: { kind: 'found', source: sharded.source },
          pods,
          observations: new Map(ids.map((id) => [id, observationOf(answer)])),
        });
      const first = decide(clusterSync({}, sharded), world(said)).status;
      assert.deepEqual(await store(clusterSyncs, smallestSpec, first), first);
      const failed = world(error('SomethingElse', letter.repeat(100_000)));
      const next = decide(clusterSync({}, first), failed).status;
      assert.equal(next.instances?.length, 256);
      assert.ok((next.preflight?.length ?? 0) > 0);
      assert.deepEqual(await store(clusterSyncs, smallestSpec, next), next);
    });
  }

  it('is what can be said at all: a verification with counts as they are', () => {
    const first = decideVerification(verification(), running(checking)).status;
    const told = running({ ...checking, verificationStatus: counts });
    const { status } = decideVerification(verification(first), told);
    assert.deepEqual(status?.verificationStatus, counts);
  });
});
