import assert from 'node:assert/strict';
import type { Hold } from '../hold.ts';
import {
  planCommit,
  type CommitFacts,
  type CommitPlan,
  type WorkloadState,
  type WorkloadView,
} from '../plan.ts';

export const nowMs = Date.UTC(2026, 0, 1, 12);
export const holder = { namespace: 'shop', name: 'orders', uid: 'sync-uid' };
export const web = { kind: 'Deployment', name: 'web' } as const;
export const queue = { kind: 'StatefulSet', name: 'queue' } as const;

export const options: CommitFacts['options'] = {
  mode: 'Automatic',
  maxLagSeconds: 10,
  workloads: [web, queue],
  workloadsAfterCommit: 'StayAtZero',
  deadlineSeconds: 300,
};

export const hold: Hold = {
  holder,
  direction: 'Forward',
  optionsHash: 'hash',
  sinceMs: nowMs - 60_000,
  workloads: [
    { ...web, uid: 'web-uid', replicas: 3 },
    { ...queue, uid: 'queue-uid', replicas: 1 },
  ],
};
export const sent: Hold = { ...hold, commitSentMs: nowMs - 1_000 };
/** Its commit was carried out. */
export const carriedOut: Hold = { ...sent, afterCommit: 'StayAtZero' };
export const ending: Hold = { ...hold, ending: 'DeadlineMissed' };

export function found(name: string, replicas: number, pods = replicas): WorkloadState {
  return { kind: 'found', seen: { uid: `${name}-uid`, resourceVersion: '7' }, replicas, pods };
}

export function views(webState: WorkloadState, queueState: WorkloadState): WorkloadView[] {
  return [
    { ...web, state: webState },
    { ...queue, state: queueState },
  ];
}

export const up = views(found('web', 3), found('queue', 1));
export const down = views(found('web', 0), found('queue', 0));
export const missing = { kind: 'missing' } as const;
export const refused = { kind: 'refused', description: 'forbidden' } as const;

/** The next step, if these are the facts that are not as usual. */
export function plan(facts: Partial<CommitFacts>): CommitPlan {
  return planCommit({
    nowMs,
    holder,
    options,
    optionsHash: 'hash',
    isAskedFor: true,
    isByHand: false,
    direction: 'Forward',
    commit: 'none',
    isCarriedOut: false,
    obstacle: undefined,
    hold: undefined,
    missedHash: undefined,
    workloads: undefined,
    ...facts,
  });
}

/** The step in a word or two, and why. */
export function outline({ step, cause, opensAt }: CommitPlan): string {
  const opening = opensAt === undefined ? '' : ' opens';
  const why = cause ? ` ${cause.reason} ${cause.level}` : opening;
  if (step.kind === 'scale') {
    return `scale ${step.scalings.map(({ name, replicas }) => `${name}=${replicas}`).join()}${why}`;
  }
  if (step.kind !== 'record') return `${step.kind}${why}`;
  const { workloads, commitSentMs, ending: end, afterCommit } = step.hold;
  const sizes = workloads.map(({ name, replicas }) => `${name}=${replicas}`).join();
  const is = [commitSentMs === undefined ? undefined : 'sent', end, afterCommit];
  const said = is.filter((word) => word !== undefined).map((word) => ` ${word}`);
  return `record ${sizes}${said.join('')}${why}`;
}

/** What happens, by the facts that are not as usual, and its outline. */
export type PlanCase = readonly [what: string, facts: Partial<CommitFacts>, expected: string];

/** A test for each case. @param usual - facts of all of them. */
export function testPlans(cases: readonly PlanCase[], usual: Partial<CommitFacts> = {}): void {
  for (const [what, facts, expected] of cases) {
    it(what, () => {
      assert.equal(outline(plan({ ...usual, ...facts })), expected);
    });
  }
}
