import { down, sent, testPlans, up, type PlanCase } from './testing/two-workloads.ts';

const stopping = 'StoppingWorkloads waiting';

describe('the next step of an attempt that was given up after its commit was sent', () => {
  const cases: readonly PlanCase[] = [
    [
      'goes no way back before all say that they have not taken it',
      { hold: { ...sent, ending: 'NotAskedFor' }, workloads: down, commit: 'unknown' },
      'none CommitUnknown warning',
    ],
    [
      'records that they have said so, before the way back',
      { hold: { ...sent, ending: 'DeadlineMissed' }, workloads: down },
      `record web=3,queue=1 DeadlineMissed ${stopping}`,
    ],
    [
      'keeps everything down when it is taken after it was given up',
      { hold: { ...sent, ending: 'NotAskedFor' }, workloads: up, commit: 'taken' },
      `scale web=0,queue=0 ${stopping}`,
    ],
    [
      'is given up when all say that they have not taken it',
      { hold: { ...sent, sinceMs: 0 }, workloads: down },
      `record web=3,queue=1 sent DeadlineMissed ${stopping}`,
    ],
  ];
  testPlans(cases);
});
