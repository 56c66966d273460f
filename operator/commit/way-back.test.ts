import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Hold } from './hold.ts';
import {
  commitSettledMs,
  planCommit,
  planRelease,
  type CommitFacts,
  type CommitProgress,
  type CommitStep,
  type WorkloadView,
} from './plan.ts';

const holder = { namespace: 'shop', name: 'orders', uid: 'sync-uid' };
const names = ['web', 'queue'] as const;
type Name = (typeof names)[number];
const onItsWayMs = 5_000;

interface Workload {
  uid: number;
  replicas: number;
  /** Pods that are terminating. */
  ending: number;
  version: number;
  /** The size that users last requested. */
  wanted: number;
}

/** Which commit is asked for. One by hand goes through the plan only while workloads are held. */
type Wish = 'automatic' | 'by hand' | 'none';

/** What happens between two passes of an operator, or in the middle of one. */
type Happening =
  | { readonly kind: 'pass' }
  /** The operator is killed: only this many writes of the step are done, possibly none. */
  | { readonly kind: 'killed'; readonly writes: number }
  | { readonly kind: 'time'; readonly seconds: number }
  | { readonly kind: 'resize'; readonly name: Name; readonly replicas: number }
  | { readonly kind: 'recreate'; readonly name: Name; readonly replicas: number }
  | { readonly kind: 'ask'; readonly wish: Wish }
  | { readonly kind: 'options'; readonly hash: string }
  | { readonly kind: 'obstacle'; readonly isThere: boolean }
  | { readonly kind: 'reachable'; readonly isReachable: boolean }
  | { readonly kind: 'arrives'; readonly isTaken: boolean }
  | { readonly kind: 'commits' }
  | { readonly kind: 'deleted' };

/** Kubernetes, a syncer and users, as far as an automatic commit involves them. */
class Scene {
  readonly workloads: Record<Name, Workload> = {
    web: { uid: 1, replicas: 3, ending: 0, version: 1, wanted: 3 },
    queue: { uid: 1, replicas: 1, ending: 0, version: 1, wanted: 1 },
  };
  readonly #after: 'StayAtZero' | 'ScaleBack';
  hold: Hold | undefined;
  missedHash: string | undefined;
  syncer: 'running' | 'committing' | 'committed' = 'running';
  isDeleted = false;
  /** When a commit was sent that was neither accepted nor refused yet. */
  sentMs: number | undefined;
  #nowMs = 1_000_000;
  #hash = 'a';
  #wish: Wish = 'automatic';
  #hasObstacle = false;
  #isReachable = true;
  #isCommitOnRecord = false;

  constructor(after: 'StayAtZero' | 'ScaleBack') {
    this.#after = after;
  }

  happen(happening: Happening): void {
    switch (happening.kind) {
      case 'pass':
        this.pass();
        return;
      case 'killed':
        this.pass(happening.writes);
        return;
      case 'time':
        this.#pass(happening.seconds);
        return;
      case 'resize':
        this.#resize(happening.name, happening.replicas);
        return;
      case 'recreate': {
        const { name, replicas } = happening;
        const { uid } = this.workloads[name];
        this.workloads[name] = { uid: uid + 1, replicas, ending: 0, version: 1, wanted: replicas };
        return;
      }
      case 'ask':
        this.#wish = happening.wish;
        return;
      case 'options':
        this.#hash = happening.hash;
        return;
      case 'obstacle':
        this.#hasObstacle = happening.isThere;
        return;
      case 'reachable':
        this.#isReachable = happening.isReachable;
        return;
      case 'arrives':
        this.#arrive(happening.isTaken);
        return;
      case 'commits':
        if (this.syncer === 'committing') this.syncer = 'committed';
        return;
      case 'deleted':
        this.isDeleted = true;
        return;
    }
  }

  /** Time passes until nothing happens any more; an automatic commit may still be requested. */
  settle(): void {
    // One by hand has no deadline.
    if (this.#wish === 'by hand') this.#wish = 'none';
    this.#hasObstacle = true;
    this.#isReachable = true;
    this.#arrive(true);
    this.happen({ kind: 'commits' });
    for (let round = 0; round < 30; round++) {
      this.#pass(60);
      this.pass();
    }
  }

  /** One pass of an operator. @param writes - how many it does before it is killed. */
  pass(writes = Infinity): void {
    const step = this.#plan();
    this.#check(step);
    let left = writes;
    // As the product does: the status is written after what is recorded, and before anything else.
    if (step.kind === 'record' && left-- > 0) this.#take(step, 1);
    if (this.#isReachable && this.syncer === 'committed' && !this.isDeleted && left-- > 0)
      this.#isCommitOnRecord = true;
    if (step.kind !== 'record' && left > 0) this.#take(step, left);
  }

  #plan(): CommitStep {
    const workloads = names.map((name): WorkloadView => {
      const { uid, replicas, ending, version } = this.workloads[name];
      const seen = { uid: `${name}-${uid}`, resourceVersion: String(version) };
      const state = { kind: 'found', seen, replicas, pods: replicas + ending } as const;
      return { kind: 'Deployment', name, state };
    });
    if (this.isDeleted) return this.hold ? planRelease(this.hold, workloads) : { kind: 'none' };
    const isByHand = this.#wish === 'by hand' && this.hold !== undefined;
    const facts: CommitFacts = {
      nowMs: this.#nowMs,
      holder,
      options: {
        mode: 'Automatic',
        maxLagSeconds: 10,
        workloads: names.map((name) => ({ kind: 'Deployment' as const, name })),
        workloadsAfterCommit: this.#after,
        deadlineSeconds: 300,
      },
      optionsHash: this.#hash,
      isAskedFor: this.#wish === 'automatic' || isByHand,
      isByHand,
      direction: 'Forward',
      commit: this.#progress(),
      isCarriedOut: this.#isReachable && this.syncer === 'committed',
      obstacle: this.#hasObstacle || !this.#isReachable ? { cause: undefined } : undefined,
      hold: this.hold,
      missedHash: this.missedHash,
      workloads,
    };
    const { step, missedHash } = planCommit(facts);
    this.missedHash = missedHash;
    return step;
  }

  /** What the operator knows: about a commit that a former operator has sent, only once it can be known. */
  #progress(): CommitProgress {
    if (this.#isCommitOnRecord) return 'done';
    if (!this.#isReachable) return 'unknown';
    if (this.syncer !== 'running') return 'taken';
    const sentMs = this.hold?.commitSentMs ?? -Infinity;
    return this.#nowMs > sentMs + commitSettledMs ? 'none' : 'unknown';
  }

  #take(step: CommitStep, writes: number): void {
    switch (step.kind) {
      case 'none':
      case 'look':
        return;
      case 'record':
        // As it is stored.
        this.hold = JSON.parse(JSON.stringify(step.hold)) as Hold;
        return;
      case 'drop':
        this.hold = undefined;
        return;
      case 'send':
        this.sentMs ??= this.#nowMs;
        return;
      case 'scale':
        for (const { name, replicas, seen } of step.scalings.slice(0, writes)) {
          const workload = this.workloads[name as Name];
          if (seen.resourceVersion !== String(workload.version)) continue;
          workload.ending += Math.max(0, workload.replicas - replicas);
          workload.replicas = replicas;
          workload.version += 1;
        }
        return;
    }
  }

  /** The invariants. */
  #check(step: CommitStep): void {
    const isOpen = this.syncer === 'committing' || this.sentMs !== undefined;
    if (step.kind === 'scale' && !this.isDeleted && isOpen) {
      const isUp = step.scalings.some(({ replicas }) => replicas > 0);
      assert.ok(!isUp, 'nothing writes again while a commit may be under way');
    }
    if (step.kind === 'scale' && this.#isCommitOnRecord && this.#after === 'StayAtZero') {
      const isUp = step.scalings.some(({ replicas }) => replicas > 0);
      assert.ok(!isUp, 'nothing writes to the old deployment once the commit is published');
    }
    if (step.kind === 'send') {
      assert.ok(this.hold?.commitSentMs !== undefined, 'that it is sent is on record');
      for (const { replicas, ending } of Object.values(this.workloads)) {
        assert.equal(replicas + ending, 0, 'nothing writes when the commit is sent');
      }
    }
  }

  #pass(seconds: number): void {
    this.#nowMs += seconds * 1000;
    for (const workload of Object.values(this.workloads)) workload.ending = 0;
    // By then, what was sent has been answered.
    if (this.sentMs !== undefined && this.#nowMs > this.sentMs + onItsWayMs) this.#arrive(false);
  }

  #arrive(isTaken: boolean): void {
    if (this.sentMs === undefined) return;
    if (isTaken) this.syncer = 'committing';
    this.sentMs = undefined;
  }

  /** A workload held at zero looks unwanted, so a user only ever gives it a size above zero. */
  #resize(name: Name, replicas: number): void {
    const workload = this.workloads[name];
    const size = this.hold ? Math.max(1, replicas) : replicas;
    workload.replicas = size;
    workload.wanted = size;
    workload.version += 1;
  }
}

const name = fc.constantFrom(...names);
const replicas = fc.integer({ min: 0, max: 5 });
const wish = fc.constantFrom<Wish[]>('automatic', 'by hand', 'none');
const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 12, arbitrary: fc.constant({ kind: 'pass' } as const) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('killed' as const), writes: fc.nat(1) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('time' as const),
      seconds: fc.constantFrom(1, 10, 400),
    }),
  },
  fc.record({ kind: fc.constant('resize' as const), name, replicas }),
  fc.record({ kind: fc.constant('recreate' as const), name, replicas }),
  fc.record({ kind: fc.constant('ask' as const), wish }),
  fc.record({ kind: fc.constant('options' as const), hash: fc.constantFrom('a', 'b') }),
  fc.record({ kind: fc.constant('obstacle' as const), isThere: fc.boolean() }),
  fc.record({ kind: fc.constant('reachable' as const), isReachable: fc.boolean() }),
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('arrives' as const), isTaken: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'commits' } as const) },
  fc.constant({ kind: 'deleted' } as const),
);
/** The course when nothing is in the way: record, scale, wait for the pods, record, send. */
const straight: readonly Happening[] = [
  { kind: 'pass' },
  { kind: 'pass' },
  { kind: 'time', seconds: 1 },
  { kind: 'pass' },
  { kind: 'pass' },
];
/** The course when a person commits what an automatic attempt has left, and withdraws that. */
const turned: readonly Happening[] = [
  ...straight.slice(0, 3),
  { kind: 'ask', wish: 'none' },
  { kind: 'pass' },
  { kind: 'ask', wish: 'by hand' },
  ...straight,
  { kind: 'ask', wish: 'none' },
];
const story = fc
  .tuple(
    fc.constantFrom(straight, turned),
    fc.nat(turned.length),
    fc.array(happening, { maxLength: 40 }),
  )
  .map(([course, length, rest]) => [...course.slice(0, length), ...rest]);
const after = fc.constantFrom('StayAtZero' as const, 'ScaleBack' as const);

describe('an automatic commit, whatever happens', () => {
  const ends = new Set<string>();

  it('leaves each workload with the size that it had, or by choice at zero after a commit', () => {
    fc.assert(
      fc.property(story, after, (happenings, choice) => {
        const scene = new Scene(choice);
        for (const each of happenings) scene.happen(each);
        const wasHeld = scene.hold !== undefined;
        scene.settle();
        assert.equal(scene.hold, undefined, 'nothing is held any more');
        const mayBeZero = scene.syncer === 'committed' && choice === 'StayAtZero';
        for (const each of names) {
          const { replicas: size, wanted } = scene.workloads[each];
          const isRight = size === wanted || (mayBeZero && size === 0);
          assert.ok(isRight, `${each} has ${size} in place of ${wanted}`);
        }
        if (wasHeld) ends.add(`${scene.isDeleted ? 'deleted' : scene.syncer} ${choice}`);
      }),
      { numRuns: 3_000 },
    );
  });

  it('has come to every end on the way', () => {
    assert.deepEqual([...ends].sort(), [
      'committed ScaleBack',
      'committed StayAtZero',
      'deleted ScaleBack',
      'deleted StayAtZero',
      'running ScaleBack',
      'running StayAtZero',
    ]);
  });
});
