import assert from 'node:assert/strict';
import fc from 'fast-check';
import { holderOf } from '../leases/lease-holder.ts';
import { breakAnnotation, type Claim } from './destination-claims.ts';
import { hostLease, wantedKeys } from './destination-keys.ts';
import { keyOf, noWish, Scene, wishOf, type Tenant } from './testing/claim-scene.ts';

const { signal } = new AbortController();

describe('the claim to a destination', () => {
  it('is open to all that only name it, no matter which comes first', async () => {
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

  it('is to 100 hosts at most, those that are named first, however many others its pods say', async () => {
    const scene = new Scene();
    const liar = scene.add('z-named');
    for (let answer = 0; answer < 5; answer++) {
      scene.logIn(liar, 'z-named', ...Array.from({ length: 100 }, (_, n) => `a-${answer}-${n}`));
      assert.equal((await scene.pass(liar)).kind, 'held');
    }
    assert.equal(scene.hostsOf(liar).length, 100);
    assert.ok(scene.hostsOf(liar).includes('z-named'));
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
    attacker.names = [];
    const withoutSecret = await scene.pass(attacker);
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
    // Its Secret is missing, but what it holds is known.
    assert.equal(scene.claims.standing(first.sync, noWish).kind, 'held');
    assert.equal(scene.claims.standing(second.sync, noWish).kind, 'open');
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

  it('is that of one of two who prove one host at the same time', async () => {
    const scene = new Scene();
    const both = [scene.add('a'), scene.add('a')] as const;
    for (const each of both) scene.logIn(each, 'a');
    const claims = await Promise.all(both.map(async (each) => await scene.pass(each)));
    assert.deepEqual(claims.map(({ kind }) => kind).sort(), ['held', 'taken']);
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
    assert.deepEqual(scene.claims.standing(first.sync, noWish), { kind: 'broken', lease: name });
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

  it('stays where the namespace of its holder cannot be read, also if it is broken: the pods may be there', async () => {
    const scene = new Scene();
    const [first, second] = [scene.add('a'), scene.add('a')];
    scene.logIn(first, 'a');
    await scene.pass(first);
    // Nothing of the holder is in the caches.
    first.isThere = false;
    first.hasPods = false;
    first.replicas = 0;
    scene.unseen.add('tenant-0');
    scene.logIn(second, 'a');
    assert.equal((await scene.pass(second)).kind, 'taken');
    assert.equal(await scene.claims.release(keyOf(first), signal), false);
    assert.deepEqual(scene.hostsOf(first), ['a']);
    scene.break(first);
    assert.equal((await scene.pass(second)).kind, 'taken');
    // Everything of it is seen to be gone.
    scene.unseen.clear();
    assert.equal((await scene.pass(second)).kind, 'held');
  });

  describe('by a name of two labels', () => {
    const other = 'another deployment';

    it('keeps nobody from what the same name leads others to', async () => {
      const scene = new Scene();
      const [attacker, owner] = [scene.add('db.shop?'), scene.add('db.shop?')];
      attacker.deployment = other;
      scene.logIn(attacker, 'db.shop?');
      assert.equal((await scene.pass(attacker)).kind, 'held');
      const inFull = scene.add('db.shop!');
      // The name may lead its pods to the sync of the current holder.
      const contested = { kind: 'open', isContested: true };
      for (const each of [owner, inFull]) assert.deepEqual(await scene.pass(each), contested);
      const otherPort = scene.add('db.shop:27018?');
      const open = { kind: 'open', isContested: false };
      assert.deepEqual(await scene.pass(otherPort), open);
      // So may the host, whatever its servers are told instead.
      const toldOther = scene.add('db.shop as db.example');
      assert.deepEqual(await scene.pass(toldOther), contested);
      // Without its Secret its destination is unknown: neither taken by another one nor free.
      const nowhere = { kind: 'open', isContested: undefined };
      assert.deepEqual(await scene.pass(scene.add()), nowhere);
      scene.logIn(owner, 'db.shop?');
      assert.equal((await scene.pass(owner)).kind, 'held');
      assert.equal((await scene.pass(attacker)).kind, 'held');
    });

    it('is that of one at a time for one deployment, also beside the name in full', async () => {
      for (const names of [
        ['db.shop?', 'db.shop?'],
        ['db.shop?', 'db.shop!'],
        ['db.shop!', 'db.shop?'],
      ] as const) {
        const scene = new Scene();
        const [first, second] = [scene.add(names[0]), scene.add(names[1])];
        scene.logIn(first, names[0]);
        assert.equal((await scene.pass(first)).kind, 'held');
        assert.deepEqual(await scene.pass(second), { kind: 'open', isContested: true });
        scene.logIn(second, names[1]);
        assert.equal((await scene.pass(second)).kind, 'taken');
        // Where it led is remembered: its pods are not started again.
        scene.endPods(second);
        assert.equal((await scene.pass(second)).kind, 'taken');
        assert.deepEqual(scene.hostsOf(second), []);
        // After a restart of the operator this is discovered again; the holder keeps it, even if its syncer is silent.
        scene.endPods(first);
        scene.restartOperator();
        assert.equal((await scene.pass(first)).kind, 'held');
        const kinds = { '?': 'open', '!': names[0] === 'db.shop!' ? 'taken' : 'open' };
        assert.equal((await scene.pass(second)).kind, kinds[names[1] === 'db.shop?' ? '?' : '!']);
      }
    });

    it('is to 100 Leases at most', async () => {
      const scene = new Scene();
      const names = Array.from({ length: 70 }, (_, n) => `db-${n}.shop!`);
      const greedy = scene.add(...names);
      scene.logIn(greedy, ...names);
      for (let pass = 0; pass < 2; pass++) assert.equal((await scene.pass(greedy)).kind, 'held');
      assert.equal(scene.leases.list().length, 100);
    });

    it('is broken by the annotation on all of its Leases, and by that on one for its holder alone', async () => {
      const scene = new Scene();
      const [first, second] = [scene.add('db.shop!'), scene.add('db.shop!')];
      scene.logIn(first, 'db.shop!');
      await scene.pass(first);
      const names = scene.leases.list().map(({ metadata }) => metadata.name);
      assert.equal(names.length, 2);
      scene.leases.annotate(names[0] ?? '', { [breakAnnotation]: keyOf(first) });
      assert.equal((await scene.pass(first)).kind, 'broken');
      scene.endPods(first);
      scene.logIn(second, 'db.shop!');
      assert.equal((await scene.pass(second)).kind, 'taken');
      assert.equal((await scene.pass(first)).kind, 'broken');
      scene.leases.annotate(names[1] ?? '', { [breakAnnotation]: keyOf(first) });
      const { uid } = holderOf(first.sync);
      const claim = await scene.pass(second);
      assert.deepEqual([claim.kind, claim.kind === 'held' && claim.takenFrom?.uid], ['held', uid]);
      assert.equal(scene.hostsOf(second).length, 2);
      assert.equal((await scene.pass(first)).kind, 'taken');
    });

    it('counts by a Lease of a former version for every deployment, until its holder has told its own', async () => {
      const scene = new Scene();
      const [owner, elsewhere, rival] = [1, 2, 3].map(() => scene.add('db.shop?'));
      assert.ok(owner && elsewhere && rival);
      elsewhere.deployment = other;
      await scene.holdOld(owner, 'db.shop');
      assert.equal((await scene.pass(owner)).kind, 'held');
      for (const each of [elsewhere, rival]) {
        scene.logIn(each, 'db.shop?');
        assert.equal((await scene.pass(each)).kind, 'taken');
      }
      scene.logIn(owner, 'db.shop?');
      assert.equal((await scene.pass(owner)).kind, 'held');
      assert.equal(scene.leases.get(hostLease('db.shop')), undefined);
      assert.equal((await scene.pass(elsewhere)).kind, 'held');
      assert.equal((await scene.pass(rival)).kind, 'taken');
      assert.deepEqual(scene.hostsOf(owner), ['db.shop']);
    });

    it('is not kept from one by the Lease of a former version, once its holder has told the name in full', async () => {
      const scene = new Scene();
      const [owner, elsewhere] = [scene.add('db.shop!'), scene.add('db.shop?')];
      elsewhere.deployment = other;
      await scene.holdOld(owner, 'db.shop');
      scene.logIn(elsewhere, 'db.shop?');
      assert.equal((await scene.pass(elsewhere)).kind, 'taken');
      scene.logIn(owner, 'db.shop!');
      assert.equal((await scene.pass(owner)).kind, 'held');
      assert.deepEqual(scene.hostsOf(owner), ['db.shop', 'db.shop']);
      assert.equal((await scene.pass(elsewhere)).kind, 'held');
    });

    it('is broken by the annotation on a Lease of a former version', async () => {
      const scene = new Scene();
      const [owner, next] = [scene.add('db.shop?'), scene.add('db.shop?')];
      await scene.holdOld(owner, 'db.shop');
      scene.break(owner);
      assert.equal((await scene.pass(owner)).kind, 'broken');
      scene.endPods(owner);
      scene.logIn(next, 'db.shop?');
      const claim = await scene.pass(next);
      assert.deepEqual(claim, { kind: 'held', takenFrom: holderOf(owner.sync) });
      assert.equal((await scene.pass(next)).kind, 'held');
      assert.equal((await scene.pass(owner)).kind, 'open');
      assert.equal(scene.leases.list().length, 1);
    });
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

  const hosts = ['a', 'b', 'db.shop?', 'db.shop!'] as const;
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
        fc.array(fc.constantFrom('one', 'another'), { minLength: 3, maxLength: 3 }),
        fc.array(action, { maxLength: 30 }),
        async (scheduler, named, deployments, actions) => {
          const scene = new Scene(async () => {
            await scheduler.schedule(Promise.resolve());
          });
          for (const [index, names] of named.entries())
            scene.add(...names).deployment = deployments[index] ?? '';
          const turns = scene.tenants.map(() => Promise.resolve());
          /** A ClusterSync has one pass at a time, concurrent with those of others. */
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

/** Once nothing happens any more: no two have the same destination, and nobody waits for one that has none. */
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
    const wanted = wantedKeys(wishOf(tenant)).map(({ lease }) => lease);
    const others = there.filter((each) => each !== tenant);
    const rivals = others.filter((other) =>
      scene.keptLeasesOf(other).some((lease) => wanted.includes(lease)),
    );
    if (isHeld(tenant)) assert.deepEqual(rivals, [], 'two have it');
    const own = scene.leasesOf(tenant).filter(({ metadata }) => wanted.includes(metadata.name));
    if (claim.kind === 'open') assert.deepEqual(own, []);
    if (rivals.length === 0) assert.notEqual(claim.kind, 'taken', 'it waits for nobody');
  }
}
