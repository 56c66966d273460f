import type { Situation } from '../store/transitions.ts';

/** A situation in which only the state may forbid a command. */
export const everythingHolds: Omit<Situation, 'state'> = {
  canCommit: true,
  commitWarnings: [],
  versionRefusal: undefined,
  isCallerGone: false,
  isReversible: true,
  failure: undefined,
};
