import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { ClusterSync } from '../api/clustersync.ts';
import type { Lease, Pod, StatefulSet } from '../kube/builtin-resources.ts';
import { controllerReference } from '../kube/owner.ts';
import { objectKey } from '../kube/resource.ts';
import type { LeaseDraft } from '../leases/lease-book.ts';
import { readHolder, type LeaseHolder } from '../leases/lease-holder.ts';
import { breakAnnotation, DestinationClaims, type Claim } from './destination-claims.ts';
import { clusterSync } from './testing/worlds.ts';

const { signal } = new AbortController();
const hostAnnotation = 'clustersync.dev/destination-host';

/** Leases as the API server keeps them: a write is done on what was seen, or not at all. It takes as long as the schedule lets it. */
class Leases {
  readonly #leases = new Map<string, Lease>();
  /** Called before a Lease becomes that of another one. */
  onHandover: (former: Lease) => void = () => undefined;
  readonly #passing: () => Promise<unknown>;

  constructor(passing: () => Promise<unknown>) {
    this.#passing = passing;
  }

  get(name: string): Lease | undefined {
    return this.#leases.get(name);
  }

  list(): Lease[] {
    return [...this.#leases.values()];
  }

  async put(name: string, { spec, annotations }: LeaseDraft): Promise<boolean> {
    return await this.#change(name, (former) => {
      if (former) this.onHandover(former);
      const metadata = { name, namespace: 'operator', annotations: { ...annotations } };
      this.#leases.set(name, {
        ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata },
        ...(spec && { spec }),
      });
    });
  }

  async remove(name: string): Promise<boolean> {
    return await this.#change(name, () => {
      this.#leases.delete(name);
    });
  }

  /** What an administrator does by kubectl. */
  annotate(name: string, annotations: Readonly<Record<string, string>>): void {
    const lease = this.#leases.get(name);
    assert.ok(lease);
    const metadata = { ...lease.metadata };
    metadata.annotations = { ...metadata.annotations, ...annotations };
    this.#leases.set(name, { ...lease, metadata });
  }

  /** Hosts by who has them. */
  hostsOf(uid: string): string[] {
    const own = this.list().filter((lease) => readHolder(lease)?.uid === uid);
    return own.flatMap(({ metadata }) => metadata.annotations?.[hostAnnotation] ?? []).sort();
  }

  async #change(name: string, change: (former: Lease | undefined) => void): Promise<boolean> {
    const seen = this.#leases.get(name);
    await this.#passing();
    if (this.#leases.get(name) !== seen) return false;
    change(seen);
    return true;
  }
}

/** A ClusterSync of a namespace of its own, and what is there of it. */
interface Tenant {
  readonly sync: ClusterSync;
  readonly names: readonly string[];
  readonly proven: Set<string>;
  /** Where it has ever logged in. */
  readonly everProven: Set<string>;
  isThere: boolean;
  /** Of its StatefulSet. */
  replicas: 0 | 1;
  hasPods: boolean;
}

/** Claims of ClusterSyncs, with the objects that tell who is still there. */
class Scene {
  readonly leases: Leases;
  readonly tenants: Tenant[] = [];
  claims: DestinationClaims;

  constructor(
    passing: () => Promise<unknown> = async () => {
      await Promise.resolve();
    },
  ) {
    this.leases = new Leases(passing);
    this.leases.onHandover = (former) => {
      const uid = readHolder(former)?.uid;
      const holder = this.tenants.find(({ sync }) => sync.metadata.uid === uid);
      assert.ok(holder && !holder.hasPods, 'the pods of the former holder are there');
    };
    this.claims = this.#newClaims();
  }

  add(...names: readonly string[]): Tenant {
    const n = this.tenants.length;
    const sync = clusterSync();
    const metadata = { ...sync.metadata, namespace: `tenant-${n}`, uid: `uid-${n}` };
    const tenant: Tenant = {
      ...{ sync: { ...sync, metadata }, names: [...names].sort() },
      ...{ proven: new Set(), everProven: new Set() },
      ...{ isThere: true, replicas: 1, hasPods: true },
    };
    this.tenants.push(tenant);
    return tenant;
  }

  logIn(tenant: Tenant, ...hosts: readonly string[]): void {
    for (const host of hosts) {
      tenant.proven.add(host);
      tenant.everProven.add(host);
    }
  }

  async pass(tenant: Tenant): Promise<Claim> {
    const claim = await this.claims.claim(tenant.sync, tenant.names, tenant.proven, signal);
    // As the reconciler does.
    tenant.replicas = claim.kind === 'open' || claim.kind === 'held' ? 1 : 0;
    return claim;
  }

  /** The pods end; they are there again when they are to be. */
  endPods(tenant: Tenant): void {
    tenant.hasPods = false;
    tenant.proven.clear();
  }

  runPods(tenant: Tenant): void {
    tenant.hasPods ||= tenant.isThere && tenant.replicas === 1;
  }

  break(tenant: Tenant): void {
    for (const { metadata, spec } of this.leases.list()) {
      if (spec?.holderIdentity !== keyOf(tenant)) continue;
      this.leases.annotate(metadata.name, { [breakAnnotation]: spec.holderIdentity });
    }
  }

  hostsOf({ sync }: Tenant): string[] {
    return this.leases.hostsOf(sync.metadata.uid ?? '');
  }

  /** One whose claim is broken keeps the Lease until another one proves that host. Without pods it has nothing of it. */
  keptHostsOf(tenant: Tenant): string[] {
    if (tenant.hasPods) return this.hostsOf(tenant);
    const broken = this.leases
      .list()
      .filter(({ metadata }) => metadata.annotations?.[breakAnnotation] === keyOf(tenant))
      .map(({ metadata }) => metadata.annotations?.[hostAnnotation]);
    return this.hostsOf(tenant).filter((host) => !broken.includes(host));
  }

  restartOperator(): void {
    this.claims = this.#newClaims();
  }

  #newClaims(): DestinationClaims {
    const isOf = ({ sync }: Tenant, { uid }: LeaseHolder): boolean => sync.metadata.uid === uid;
    return new DestinationClaims(this.leases, {
      isGone: (holder) => !this.tenants.some((each) => each.isThere && isOf(each, holder)),
      statefulSets: {
        get: (key) => setOf(this.tenants.find((each) => `${keyOf(each)}-syncer` === key)),
        list: (): StatefulSet[] => [],
      },
      pods: {
        get: () => undefined,
        list: () => this.tenants.filter(({ hasPods }) => hasPods).map((each) => podOf(each)),
      },
    });
  }
}

function keyOf({ sync }: Tenant): string {
  return objectKey(sync.metadata);
}

/** Where it is gone, the garbage collector has deleted the StatefulSet with its pods. */
function setOf(tenant: Tenant | undefined): StatefulSet | undefined {
  if (!tenant || !(tenant.isThere || tenant.hasPods)) return undefined;
  const metadata = { name: 'orders-syncer', ownerReferences: [controllerReference(tenant.sync)] };
  const spec = { replicas: tenant.replicas, selector: {}, template: {}, serviceName: '' };
  return { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata, spec };
}

function podOf({ sync: { metadata } }: Tenant): Pod {
  const annotations = { 'clustersync.dev/owner': `ClusterSync/${metadata.name}` };
  const { namespace = '' } = metadata;
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'pod', namespace, annotations } };
}

describe('the claim to a destination', () => {
  it('is open to all that only name it, whoever comes first', async () => {
    const scene = new Scene();
    const [first, second] = [scene.add('a'), scene.add('a')];
    assert.equal((await scene.pass(first)).kind, 'open');
    assert.equal((await scene.pass(second)).kind, 'open');
    assert.deepEqual(scene.leases.list(), []);
  });

  it('is that of the first who has logged in, and of nobody else', async () => {
    const scene = new Scene();
    const [first, second] = [scene.add('a'), scene.add('a')];
    await scene.pass(first);
    scene.logIn(second, 'a');
    assert.equal((await scene.pass(second)).kind, 'held');
    scene.logIn(first, 'a');
    const told = await scene.pass(first);
    assert.deepEqual(told, {
      ...{ kind: 'taken', host: 'a' },
      holder: { namespace: 'tenant-1', name: 'orders', uid: 'uid-1' },
    });
  });

  it('is to no host that is only named beside one where somebody has logged in', async () => {
    const scene = new Scene();
    const [attacker, owner] = [scene.add('a-of-the-attacker', 'b'), scene.add('b')];
    scene.logIn(attacker, 'a-of-the-attacker');
    assert.equal((await scene.pass(attacker)).kind, 'held');
    assert.deepEqual(scene.hostsOf(attacker), ['a-of-the-attacker']);
    scene.logIn(owner, 'b');
    assert.equal((await scene.pass(owner)).kind, 'held');
    assert.equal((await scene.pass(attacker)).kind, 'taken');
  });

  it('is asked for where a syncer has logged in, too, whatever its Secret names by then', async () => {
    const scene = new Scene();
    const [owner, attacker] = [scene.add('b'), scene.add('a')];
    scene.logIn(owner, 'b');
    await scene.pass(owner);
    scene.logIn(attacker, 'a');
    assert.equal((await scene.pass(attacker)).kind, 'held');
    scene.logIn(attacker, 'b');
    assert.equal((await scene.pass(attacker)).kind, 'taken');
    const withoutSecret = await scene.claims.claim(attacker.sync, [], new Set(['b']), signal);
    assert.equal(withoutSecret.kind, 'taken');
  });

  it('stays without a proof where it was held before, as that of a former version, and across operators', async () => {
    const scene = new Scene();
    const [first, second] = [scene.add('a'), scene.add('a')];
    scene.logIn(first, 'a');
    await scene.pass(first);
    first.proven.clear();
    scene.restartOperator();
    scene.logIn(second, 'a');
    assert.equal((await scene.pass(second)).kind, 'taken');
    assert.equal((await scene.pass(first)).kind, 'held');
    // Its Secret is away: what it has is known.
    assert.equal(scene.claims.standing(first.sync, []).kind, 'held');
    assert.equal(scene.claims.standing(second.sync, []).kind, 'open');
  });

  it('leaves nothing claimed of a list of which another one has a part', async () => {
    const scene = new Scene();
    const [first, second, third] = [scene.add('b'), scene.add('a', 'b'), scene.add('a')];
    scene.logIn(first, 'b');
    await scene.pass(first);
    scene.logIn(second, 'a', 'b');
    assert.equal((await scene.pass(second)).kind, 'taken');
    scene.logIn(third, 'a');
    assert.equal((await scene.pass(third)).kind, 'held');
  });

  it('is that of one of two who prove different hosts of one list at the same time', async () => {
    const scene = new Scene();
    const both = [scene.add('a', 'b'), scene.add('a', 'b')] as const;
    scene.logIn(both[0], 'a');
    scene.logIn(both[1], 'b');
    const claims = await Promise.all(both.map(async (each) => await scene.pass(each)));
    assert.ok(claims.filter(({ kind }) => kind === 'held').length <= 1);
    const kinds = [(await scene.pass(both[0])).kind, (await scene.pass(both[1])).kind];
    assert.deepEqual(kinds.sort(), ['held', 'taken']);
  });

  it('is broken for the holder that is named, until another one has it, who waits for the pods', async () => {
    const scene = new Scene();
    const [first, second] = [scene.add('a'), scene.add('a')];
    scene.logIn(first, 'a');
    await scene.pass(first);
    const [lease] = scene.leases.list();
    assert.ok(lease);
    const { name } = lease.metadata;
    scene.leases.annotate(name, { [breakAnnotation]: keyOf(second) });
    assert.equal((await scene.pass(first)).kind, 'held');
    scene.leases.annotate(name, { [breakAnnotation]: keyOf(first) });
    assert.deepEqual(scene.claims.standing(first.sync, []), { kind: 'broken', lease: name });
    scene.logIn(second, 'a');
    assert.equal((await scene.pass(second)).kind, 'taken', 'the pods of the first are there');
    assert.equal((await scene.pass(first)).kind, 'broken');
    assert.equal((await scene.pass(second)).kind, 'taken', 'they are being ended');
    scene.endPods(first);
    assert.deepEqual(await scene.pass(second), {
      kind: 'held',
      takenFrom: { namespace: 'tenant-0', name: 'orders', uid: 'uid-0' },
    });
    assert.deepEqual(await scene.pass(second), { kind: 'held' });
    assert.equal((await scene.pass(first)).kind, 'taken');
  });

  it('is given back when the holder is gone, and its pods', async () => {
    const scene = new Scene();
    const [first, second] = [scene.add('a'), scene.add('a')];
    scene.logIn(first, 'a');
    await scene.pass(first);
    first.isThere = false;
    assert.equal(await scene.claims.release(keyOf(first), signal), true);
    assert.equal((await scene.pass(second)).kind, 'taken');
    scene.endPods(first);
    assert.equal(await scene.claims.release(keyOf(first), signal), false);
    assert.deepEqual(scene.leases.list(), []);
  });

  const hosts = ['a', 'b', 'c'] as const;
  const who = fc.nat({ max: 2 });
  const action = fc.oneof(
    fc.record({ do: fc.constant('pass' as const), who }),
    fc.record({ do: fc.constant('logIn' as const), who, at: fc.subarray([...hosts]) }),
    fc.record({
      do: fc.constantFrom('fail', 'delete', 'endPods', 'runPods', 'break', 'restart'),
      who,
    }),
  );

  it('is, whatever happens between and in which order, that of one at a time, who has logged in there', async () => {
    const lists = fc.array(fc.subarray([...hosts], { minLength: 1 }), {
      minLength: 3,
      maxLength: 3,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        lists,
        fc.array(action, { maxLength: 30 }),
        async (scheduler, named, actions) => {
          const scene = new Scene(async () => {
            await scheduler.schedule(Promise.resolve());
          });
          for (const names of named) scene.add(...names);
          const turns = scene.tenants.map(() => Promise.resolve());
          /** A ClusterSync has one pass at a time, beside those of others. */
          const inTurn = (index: number, work: (tenant: Tenant) => Promise<void>): void => {
            const tenant = scene.tenants[index];
            assert.ok(tenant);
            turns[index] = (turns[index] ?? Promise.resolve()).then(async () => {
              await work(tenant);
            });
          };
          for (const each of actions) {
            inTurn(each.who, async (tenant) => {
              await scheduler.schedule(Promise.resolve());
              await play(scene, tenant, each);
            });
          }
          await scheduler.waitFor(Promise.all(turns));
          await settle(scene, scheduler);
        },
      ),
      { numRuns: 500 },
    );
  });
});

interface Action {
  readonly do: string;
  readonly at?: readonly string[];
}

async function play(scene: Scene, tenant: Tenant, { do: what, at = [] }: Action): Promise<void> {
  switch (what) {
    case 'pass':
      if (tenant.isThere) check(scene, tenant, await scene.pass(tenant));
      break;
    case 'logIn':
      if (tenant.hasPods && tenant.isThere) scene.logIn(tenant, ...at);
      break;
    case 'fail':
      tenant.proven.clear();
      break;
    case 'delete':
      tenant.isThere = false;
      await scene.claims.release(keyOf(tenant), signal);
      break;
    case 'endPods':
      scene.endPods(tenant);
      break;
    case 'runPods':
      scene.runPods(tenant);
      break;
    case 'break':
      scene.break(tenant);
      break;
    case 'restart':
      scene.restartOperator();
      break;
  }
}

/** What a pass may say at any time. */
function check(scene: Scene, tenant: Tenant, claim: Claim): void {
  const own = scene.hostsOf(tenant);
  for (const host of own) assert.ok(tenant.everProven.has(host), `${host} was never proven`);
  if (claim.kind === 'held') assert.ok(own.length > 0);
  if (claim.kind !== 'taken') return;
  const holder = scene.tenants.find(({ sync }) => sync.metadata.uid === claim.holder.uid);
  assert.ok(holder !== tenant && holder?.everProven.has(claim.host), 'nobody who has proven it');
}

/** Where nothing happens any more: no two have one destination, and nobody waits for one who has none. */
async function settle(scene: Scene, scheduler: fc.Scheduler): Promise<void> {
  const there = scene.tenants.filter(({ isThere }) => isThere);
  for (const tenant of scene.tenants) if (!tenant.isThere) scene.endPods(tenant);
  const claims = new Map<Tenant, Claim>();
  for (let round = 0; round < 3; round++) {
    for (const tenant of there) {
      if (tenant.replicas === 0) scene.endPods(tenant);
      claims.set(tenant, await scheduler.waitFor(scene.pass(tenant)));
    }
  }
  const isHeld = (tenant: Tenant): boolean => claims.get(tenant)?.kind === 'held';
  for (const tenant of there) {
    const claim = claims.get(tenant);
    assert.ok(claim);
    check(scene, tenant, claim);
    const hosts = [...tenant.names, ...tenant.proven];
    const others = there.filter((each) => each !== tenant);
    const rivals = others.filter((other) =>
      scene.keptHostsOf(other).some((host) => hosts.includes(host)),
    );
    if (isHeld(tenant)) assert.deepEqual(rivals, [], 'two have it');
    const own = scene.hostsOf(tenant).filter((host) => hosts.includes(host));
    if (claim.kind === 'open') assert.deepEqual(own, []);
    if (rivals.length === 0) assert.notEqual(claim.kind, 'taken', 'it waits for nobody');
  }
}
