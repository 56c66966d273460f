import {
  down,
  ending,
  hold,
  nowMs,
  sent,
  testPlans,
  up,
  type PlanCase,
} from './testing/two-workloads.ts';

const stopping = 'StoppingWorkloads waiting';
/** What `spec.commit` says once it is removed. */
const byHand = { isByHand: true, optionsHash: 'manual' } as const;

describe('the next step of a commit by hand while workloads are held', () => {
  const cases: readonly PlanCase[] = [
    [
      'records that it is sent, before it is',
      { hold, workloads: down },
      `record web=3,queue=1 sent ${stopping}`,
    ],
    ['sends it', { hold: sent, workloads: down }, 'send Committing waiting'],
    [
      'starts nothing while it is being sent',
      { hold: sent, workloads: down, commit: 'unknown' },
      'send Committing waiting',
    ],
    ['stops them first', { hold, workloads: up }, `scale web=0,queue=0 ${stopping}`],
    [
      'is not given up at the deadline',
      { hold: { ...hold, sinceMs: nowMs - 300_000 }, workloads: down },
      `record web=3,queue=1 sent ${stopping}`,
    ],
    [
      'takes up an attempt that was given up',
      { hold: ending, workloads: down },
      `record web=3,queue=1 ${stopping}`,
    ],
    [
      'takes up none while the commit has to wait, as for another copy',
      {
        ...{ hold: { ...ending, ending: 'NotAskedFor' }, workloads: down },
        obstacle: { cause: undefined },
      },
      'scale web=3,queue=1',
    ],
    [
      'is given up when it is not asked for any more',
      { hold, workloads: down, isAskedFor: false },
      `record web=3,queue=1 NotAskedFor ${stopping}`,
    ],
    [
      'is given up in another direction',
      { hold, workloads: down, direction: 'Reverse' },
      `record web=3,queue=1 NotAskedFor ${stopping}`,
    ],
    ['leaves them at zero', { hold: sent, workloads: down, commit: 'done' }, 'drop'],
  ];
  testPlans(cases, byHand);
});
