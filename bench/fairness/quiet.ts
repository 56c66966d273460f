import { applying, idle, StandIn } from '../../e2e/integration/operator/stand-in.ts';
import { isConditionTrue } from '../../operator/kube/conditions.ts';
import { inParallel, syncerPort, type FairnessGround, type Owned } from './ground.ts';

const perNamespace = 10;
/** How many ClusterSyncs are changed at the same time. */
const atOnce = 2;

/** Milliseconds until a status shows a change. */
export interface Reactions {
  /** From the answer of the API server that a spec is stored. */
  readonly specMs: number[];
  /** From the time when a syncer would answer differently. */
  readonly answerMs: number[];
}

interface Quiet {
  readonly sync: Owned;
  readonly syncer: StandIn;
}

/** ClusterSyncs in some namespaces that work as they should; the reactions to their changes are measured. */
export class QuietSyncs implements AsyncDisposable {
  readonly #ground: FairnessGround;
  readonly #all: readonly Quiet[];
  #changes = 0;

  private constructor(ground: FairnessGround, all: readonly Quiet[]) {
    this.#ground = ground;
    this.#all = all;
  }

  /** Creates ten in each of these namespaces; resolves when all are in sync. The operator must be running. */
  static async start(ground: FairnessGround, namespaces: readonly string[]): Promise<QuietSyncs> {
    const syncs: Owned[] = [];
    for (const namespace of namespaces)
      syncs.push(...(await ground.makeSyncs(namespace, perNamespace)));
    const all: (Quiet & { readonly address: string })[] = [];
    for (const sync of syncs) {
      const address = await ground.reserveAddress();
      const syncer = await StandIn.start(address, syncerPort, { progress: idle });
      syncer.onCommand = (name) => {
        if (name === 'start') syncer.progress = { progress: applying };
      };
      all.push({ sync, syncer, address });
    }
    await ground.runPods(syncs, (index) => all[index]?.address ?? '');
    for (const { sync } of all) {
      await ground.untilSync(sync, 'in sync', ({ status }) =>
        isConditionTrue(status?.conditions, 'Ready'),
      );
    }
    return new QuietSyncs(ground, all);
  }

  /** Changes each of them that many times, alternately its spec and the answers of its syncer. */
  async measure(rounds: number): Promise<Reactions> {
    const reactions: Reactions = { specMs: [], answerMs: [] };
    for (let round = 0; round < rounds; round++) {
      await inParallel(
        this.#all,
        async (each) => {
          reactions.specMs.push(await this.#changeSpec(each));
          reactions.answerMs.push(await this.#changeAnswer(each));
        },
        atOnce,
      );
    }
    return reactions;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#all.map(async ({ syncer }) => {
        await syncer[Symbol.asyncDispose]();
      }),
    );
  }

  async #changeSpec({ sync }: Quiet): Promise<number> {
    this.#changes += 1;
    const commit = { maxLagSeconds: 10 + this.#changes };
    const { generation = 0 } = (await this.#ground.patchSpec(sync, { commit })).metadata;
    const storedMs = performance.now();
    await this.#ground.untilSync(sync, 'the spec is observed', ({ status }) => {
      return (status?.observedGeneration ?? 0) >= generation;
    });
    return performance.now() - storedMs;
  }

  async #changeAnswer({ sync, syncer }: Quiet): Promise<number> {
    const before = this.#ground.syncs.get(`${sync.namespace}/${sync.name}`)?.status?.canCommit;
    const canCommit = before !== true;
    syncer.progress = { progress: { ...applying, canCommit } };
    const changedMs = performance.now();
    await this.#ground.untilSync(sync, 'the answer is in the status', ({ status }) => {
      return status?.canCommit === canCommit;
    });
    return performance.now() - changedMs;
  }
}
