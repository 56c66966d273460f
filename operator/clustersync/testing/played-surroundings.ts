import { createLogger } from '../../../service/logger.ts';
import type { ClusterSync } from '../../api/clustersync.ts';
import type { SyncVerification } from '../../api/sync-verification.ts';
import type { KubeClient } from '../../kube/client.ts';
import { FakeClock } from '../../kube/testing/fake-clock.ts';
import type { SecretValue } from '../../operand/credentials.ts';
import { LatestStatuses } from '../../operand/latest-statuses.ts';
import { nowMs } from '../../operand/testing/running-pod.ts';
import type { World } from '../decision.ts';
import { ClusterSyncReconciler, type ClusterSyncReconcilerOptions } from '../reconcile.ts';

const { signal } = new AbortController();
const key = 'shop/orders';

function uriOf(host: string): SecretValue {
  return { kind: 'found', value: Buffer.from(`mongodb://${host}.test`).toString('base64') };
}

/**
 * What surrounds the reconciler of ClusterSyncs: it finds the world that a test describes, and what it does is noted. Objects are
 * applied without an API server, and {@link whileApplying} happens meanwhile.
 */
export class PlayedSurroundings {
  readonly clock = new FakeClock(nowMs);
  /** The commands that were sent, and their recipients. */
  readonly sent: string[] = [];
  readonly latestVerifications = new LatestStatuses<NonNullable<SyncVerification['status']>>();
  verifications: readonly SyncVerification[] = [];
  whileApplying: () => Promise<void> = async () => {
    await Promise.resolve();
  };
  /** As the cache has it. */
  clusterSync: ClusterSync;
  readonly world: World;
  readonly #reconciler: ClusterSyncReconciler;

  constructor(clusterSync: ClusterSync, world: World) {
    this.clusterSync = clusterSync;
    this.world = world;
    this.#reconciler = new ClusterSyncReconciler(this.#options());
  }

  /** One pass. @returns after how many milliseconds the next one is to come. */
  async reconcile(): Promise<number | undefined> {
    const context = { signal, logger: createLogger('test', 'fatal') };
    return (await this.#reconciler.reconcile(key, context)).requeueAfterMs;
  }

  #options(): ClusterSyncReconcilerOptions {
    const nothing = (): undefined => undefined;
    const parts = {
      client: {
        applyStatus: () => Promise.resolve({ metadata: {} }),
        patch: () => Promise.resolve({}),
      } satisfies Partial<Record<keyof KubeClient, unknown>>,
      clusterSyncs: { get: () => this.clusterSync, list: () => [] },
      store: {
        secrets: () =>
          Promise.resolve({ ...this.world, source: uriOf('old'), destination: uriOf('new') }),
        pods: () => this.world.pods,
        podRefusals: () => Promise.resolve(new Map()),
        statefulSet: () => this.world.statefulSet,
        apply: async () => {
          await this.whileApplying();
        },
        stop: () => Promise.resolve(),
        forget: nothing,
      },
      monitor: {
        observations: () => this.world.observations,
        watch: nothing,
        forget: nothing,
        send: (_: string, id: string, { name }: { readonly name: string }) => {
          this.sent.push(`${name} ${id}`);
        },
      },
      sources: { view: () => this.world.sourceView, watch: nothing, forget: nothing },
      checks: { view: () => this.world.check, watch: nothing, forget: nothing },
      claims: {
        claim: () => Promise.resolve(this.world.claim),
        standing: () => this.world.claim,
        release: () => Promise.resolve(false),
      },
      holds: {
        holdOf: () => this.world.commit.hold,
        look: () => Promise.resolve(this.world.commit.workloads),
        take: () => Promise.resolve(true),
        release: () => Promise.resolve(false),
      },
      syncVerifications: { get: nothing, list: () => this.verifications },
      latestVerifications: this.latestVerifications,
      recorder: { record: nothing },
      latest: new LatestStatuses(),
      settings: this.world.settings,
      clock: this.clock,
    };
    return parts as unknown as ClusterSyncReconcilerOptions;
  }
}
