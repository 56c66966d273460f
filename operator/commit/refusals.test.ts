import assert from 'node:assert/strict';
import type { WorkloadState } from './plan.ts';
import { ending, found, hold, outline, plan, views } from './testing/two-workloads.ts';

function withRefusal(name: string, replicas: number): WorkloadState {
  const state = found(name, replicas);
  return state.kind === 'found' ? { ...state, refusal: 'no right' } : state;
}

describe('a workload that the API server has refused to scale', () => {
  it('is tried again, and the cause says why it was refused', () => {
    const cases = [
      { hold, workloads: views(found('web', 3), withRefusal('queue', 1)) },
      { hold: ending, workloads: views(withRefusal('web', 0), withRefusal('queue', 0)) },
      {
        hold: { ...hold, ending: 'NotAskedFor' as const },
        workloads: views(withRefusal('web', 0), found('queue', 1)),
      },
      // It has its size.
      { hold, workloads: views(found('web', 3), withRefusal('queue', 0)) },
    ].map((facts) => {
      const { cause } = plan(facts);
      return [outline(plan(facts)), cause?.message];
    });
    const message = (what: string): string => `the ${what} cannot be scaled: no right`;
    assert.deepEqual(cases, [
      ['scale web=0,queue=0 Forbidden stalled', message('StatefulSet queue')],
      ['scale web=3,queue=1 Forbidden stalled', message('Deployment web')],
      ['scale web=3 Forbidden stalled', message('Deployment web')],
      ['scale web=0 StoppingWorkloads waiting', 'the workloads are being scaled to zero'],
    ]);
  });
});
