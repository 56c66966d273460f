import { crashPod } from '../../e2e/integration/operator/played-pod.ts';
import { secrets } from '../../operator/kube/builtin-resources.ts';
import { sleep } from '../../service/sleep.ts';
import { syncerPort, type FairnessGround, type Owned } from './ground.ts';
import { HostilePods, hostileKinds, type HostileKind } from './hostile-pods.ts';

const { signal } = new AbortController();
/** The load that the owners of the broken resources put on the API server, one after the other. */
const disturbMs = 40;

/** Who else uses the cluster. */
export const neighbourhoods = {
  alone: 'nobody else',
  broken: 'one namespace with 500 broken ClusterSyncs',
  hostile: '48 ClusterSyncs whose pods stall, and 10 hostile ones',
} as const;

/** One of them. */
export type Neighbourhood = keyof typeof neighbourhoods;

/** Where they are. */
export const neighbourNamespaces = ['broken', 'stalling', 'hostile'] as const;

/** What is wrong with each ClusterSync of the broken ones, in turn. */
const faults = ['crashing', 'refused', 'secret', 'edited', 'flapping', 'stalling'] as const;

const brokenCount = 500;
const stallingCount = 48;
const hostileCount = 10;

/** Creates the neighbours, and keeps them active until this is disposed of. The operator must be running. */
export async function moveIn(
  ground: FairnessGround,
  neighbourhood: Neighbourhood,
): Promise<AsyncDisposable> {
  const stack = new AsyncDisposableStack();
  if (neighbourhood === 'alone') return stack;
  const addresses: Partial<Record<HostileKind, string>> = {};
  for (const kind of hostileKinds) addresses[kind] = await ground.reserveAddress();
  const at = addresses as Record<HostileKind, string>;
  stack.use(await HostilePods.start({ addresses: at, port: syncerPort }));
  if (neighbourhood === 'hostile') await moveInHostile(ground, at);
  else stack.use(await moveInBroken(ground, at));
  return stack;
}

async function moveInHostile(
  ground: FairnessGround,
  addresses: Readonly<Record<HostileKind, string>>,
): Promise<void> {
  const stalling = await ground.makeSyncs('stalling', stallingCount);
  const stalls = [addresses.stalling, addresses.dripping];
  await ground.runPods(stalling, (index) => stalls[index % stalls.length] ?? '');
  const hostile = await ground.makeSyncs('hostile', hostileCount);
  const others = [
    ...[addresses.endless, addresses.levels, addresses.large],
    ...[addresses.errors, addresses.flapping],
  ];
  await ground.runPods(hostile, (index) => others[index % others.length] ?? '');
}

async function moveInBroken(
  ground: FairnessGround,
  addresses: Readonly<Record<HostileKind, string>>,
): Promise<AsyncDisposable> {
  const faultOf = (index: number): (typeof faults)[number] =>
    faults[index % faults.length] ?? 'crashing';
  const all = await ground.makeSyncs('broken', brokenCount, (index) =>
    faultOf(index) === 'refused' ? { syncer: { image: 'evil.example.dev/tool:1' } } : {},
  );
  const made = all.filter((_, index) => faultOf(index) !== 'refused');
  const faultBy = new Map(all.map((each, index) => [each, faultOf(index)]));
  await ground.runPods(made, (index) => {
    const each = made[index];
    const fault = each && faultBy.get(each);
    return fault === 'flapping' || fault === 'secret' || fault === 'edited'
      ? addresses.flapping
      : addresses.stalling;
  });
  const stop = new AbortController();
  const disturbing = disturb(ground, faultBy, stop.signal);
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await disturbing;
    },
  };
}

async function disturb(
  ground: FairnessGround,
  faultBy: ReadonlyMap<Owned, (typeof faults)[number]>,
  stopping: AbortSignal,
): Promise<void> {
  for (let round = 1; ; round++) {
    for (const [sync, fault] of faultBy) {
      if (stopping.aborted) return;
      const set = ground.setOf(sync);
      if (fault === 'crashing' && set) await crashPod(ground.client, set, round);
      else if (fault === 'edited')
        await ground.patchSpec(sync, { commit: { maxLagSeconds: 10 + round } });
      else if (fault === 'secret') {
        const data = ground.destinationData(sync, `user-${round}`);
        await ground.client.patch(secrets, sync, { data }, { signal });
      } else continue;
      await sleep(disturbMs, stopping).catch(() => undefined);
    }
  }
}
