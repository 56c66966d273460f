import type { Model } from './commit-state.ts';
import type { Happening } from './search.ts';
import { kubernetesSteps, operatorSteps } from './operator-steps.ts';
import { storeSteps, syncerSteps } from './syncer-steps.ts';

/** Everything that may happen in a state, each thing once. */
export function happenings(model: Model): Happening<Model>[] {
  return [
    ...operatorSteps(model),
    ...kubernetesSteps(model),
    ...syncerSteps(model),
    ...storeSteps(model),
  ];
}
