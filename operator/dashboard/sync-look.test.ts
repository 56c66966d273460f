import assert from 'node:assert/strict';
import type { CollectionsView, EventsView } from '../../dashboard/api/sync-view.ts';
import type { ClusterSyncPhase, ClusterSyncStatus } from '../api/clustersync.ts';
import type { SyncVerification, SyncVerificationStatus } from '../api/sync-verification.ts';
import { clusterSync } from '../clustersync/testing/worlds.ts';
import type { Pod } from '../kube/builtin-resources.ts';
import type { KubeObject } from '../kube/resource.ts';
import { FakeClock } from '../kube/testing/fake-clock.ts';
import { givenSecrets } from '../operand/testing/given-secrets.ts';
import { runningOperandPod } from '../operand/testing/running-pod.ts';
import { verification } from '../verification/testing/worlds.ts';
import { OperatorSyncLook } from './sync-look.ts';

const { signal } = new AbortController();

const noHeaders = { optionsDigest: undefined, destination: undefined, deployment: undefined };

/** What a syncer answers: each collection with a `+` if its part is copied. */
function list(...names: readonly string[]): object {
  const collections = names.map((name) => ({
    ...{ namespace: name.replace('+', ''), estimatedTotalBytes: 10, estimatedCopiedBytes: 10 },
    isCopied: name.endsWith('+'),
  }));
  const copied = collections.filter(({ isCopied }) => isCopied).length;
  return { collections, total: names.length, copied };
}

/** What is shown of collections: each with a `+` if it is copied, and of how many instances they are not known. */
function shown(collections: CollectionsView | null | undefined): string {
  if (!collections) return 'nothing';
  const names = collections.collections.map((one) => `${one.namespace}${one.isCopied ? '+' : ''}`);
  return `${names.join(' ')}, ${collections.unknownInstances} unknown`;
}

/** A sync of two shards whose pods answer, or do not. */
class Scene {
  /** By the name of a pod; undefined while it does not answer. */
  readonly answers = new Map<string, object>();
  readonly clock = new FakeClock();
  verifications: readonly SyncVerification[] = [];
  eventsOf: (object: KubeObject) => Promise<EventsView> = async () =>
    await Promise.resolve({ shown: [], hasMore: false });
  phase: ClusterSyncPhase = 'InitialCopy';
  isCopyDone = false;
  isKnown = true;
  asked = 0;
  readonly #look = new OperatorSyncLook({
    sync: () => clusterSync({}, this.#status()),
    verifications: () => this.verifications,
    isKnown: () => this.isKnown,
    eventsOf: async (object) => await this.eventsOf(object),
    clock: this.clock,
    store: {
      pods: (_, names) => new Map(names.map((name) => [name, podOf(name)])),
      secrets: async () => await Promise.resolve(givenSecrets),
    },
    call: async ({ baseUrl }) => {
      this.asked++;
      const body = this.answers.get(new URL(baseUrl).hostname);
      return await Promise.resolve(
        body
          ? { kind: 'answer', status: 200, body, ...noHeaders }
          : { kind: 'unreachable', description: 'no answer' },
      );
    },
  });

  async read() {
    const detail = await this.#look.read(signal);
    assert.ok(detail);
    return detail;
  }

  /** What is shown of collections, if the two pods answer so. */
  async collections(first?: object, second?: object): Promise<string> {
    this.answers.clear();
    for (const [index, answer] of [first, second].entries())
      if (answer) this.answers.set(`orders-syncer-${index}`, answer);
    return shown((await this.read()).collections);
  }

  #status(): ClusterSyncStatus {
    const done = { type: 'InitialCopyDone', status: 'True', reason: 'InitialCopyDone' } as const;
    const times = { message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
    return {
      phase: this.phase,
      source: { kind: 'Sharded', shards: ['a', 'b'] },
      conditions: this.isCopyDone ? [{ ...done, ...times }] : [],
    };
  }
}

/** A running pod that is found at its name. */
function podOf(name: string): Pod {
  const pod = runningOperandPod(name === 'check-verifier-0' ? 'verifier' : 'syncer', name, []);
  return { ...pod, status: { ...pod.status, podIP: name } };
}

describe('the collections of a sync that is looked at', () => {
  it('are copied if all instances say so', async () => {
    assert.equal(await new Scene().collections(list('a+', 'b'), list('a+')), 'a+ b, 0 unknown');
  });

  it('are not copied as long as one instance is silent, or has forgotten what it copies', async () => {
    for (const other of [undefined, list()])
      assert.equal(await new Scene().collections(list('a+', 'b+'), other), 'a b, 1 unknown');
  });

  it('are asked for again until all instances have listed them', async () => {
    const scene = new Scene();
    scene.phase = 'Stalled';
    await scene.collections(list('a+'));
    assert.equal(await scene.collections(list('a+'), list('b')), 'a+ b, 0 unknown');
    assert.equal(await scene.collections(list('a+'), list('b+')), 'a+ b+, 0 unknown');
    const { asked } = scene;
    assert.equal(await scene.collections(), 'a+ b+, 0 unknown');
    assert.equal(scene.asked, asked, 'they no longer change');
    // It was started over.
    scene.phase = 'InitialCopy';
    assert.equal(await scene.collections(list('a'), list('b')), 'a b, 0 unknown');
  });

  it('are all copied after the initial copy, even if an instance is silent', async () => {
    const scene = new Scene();
    scene.isCopyDone = true;
    scene.phase = 'ChangeApplication';
    assert.equal(await scene.collections(list('a+')), 'a+, 1 unknown');
    assert.equal(await scene.collections(list('a+'), list('b')), 'a+ b+, 0 unknown');
  });

  it('are not those of pods in a namespace that is not known', async () => {
    const scene = new Scene();
    scene.isKnown = false;
    assert.equal(await scene.collections(list('a+'), list('b')), 'nothing');
    assert.equal(scene.asked, 0);
  });
});

describe('the differences of a sync that is looked at', () => {
  it('stay as they were while the verifier does not answer', async () => {
    const scene = new Scene();
    const status = { phase: 'Checking', mismatches: { total: 1 } } as SyncVerificationStatus;
    scene.verifications = [verification(status)];
    const kinds = async (): Promise<readonly string[] | undefined> => {
      await scene.clock.advance(5_000);
      return (await scene.read()).verifications[0]?.list?.map(({ kind }) => kind);
    };
    assert.equal(await kinds(), undefined);
    const mismatches = [{ namespace: 'shop.orders', kind: 'missingDocument', id: '1' }];
    scene.answers.set('check-verifier-0', { mismatches, next: null });
    assert.deepEqual(await kinds(), ['missingDocument']);
    scene.answers.clear();
    assert.deepEqual(await kinds(), ['missingDocument']);
  });
});

describe('the events of a sync that is looked at', () => {
  it('stay as they were while some cannot be read', async () => {
    const scene = new Scene();
    scene.verifications = [verification()];
    const event = { type: 'Normal', reason: 'Started', note: '', count: 1, at: '2026' };
    const eventsOf = async ({ kind }: KubeObject): Promise<EventsView> =>
      await Promise.resolve({ shown: [{ ...event, about: kind }], hasMore: false });
    const about = async (): Promise<readonly string[]> => {
      await scene.clock.advance(5_000);
      return ((await scene.read()).events?.shown ?? []).map((one) => one.about).sort();
    };
    scene.eventsOf = eventsOf;
    assert.deepEqual(await about(), ['ClusterSync', 'SyncVerification']);
    scene.eventsOf = async (object) =>
      object.kind === 'ClusterSync' ? await Promise.reject(new Error()) : await eventsOf(object);
    assert.deepEqual(await about(), ['ClusterSync', 'SyncVerification']);
  });
});
