import assert from 'node:assert/strict';
import type { Phase, SyncView } from '../store/records.ts';
import { catchUpOf, lagOf } from './lag.ts';

const cases: [SyncView['state'], Phase, lag: number | null, catchUp: number | null][] = [
  ['RUNNING', 'copy', 5, null],
  ['RUNNING', 'changes', 5, 9],
  ['RUNNING', 'handover', null, null],
  ['RUNNING', 'preparing', 5, null],
  ['PAUSED', 'changes', null, null],
  ['COMMITTING', 'changes', 5, 9],
  ['COMMITTING', 'restoring', 0, null],
  ['COMMITTED', 'done', 0, null],
];

describe('what is told of the lag', () => {
  for (const [state, phase, lag, catchUp] of cases) {
    it(`${state}, ${phase}: ${String(lag)}, gone in ${String(catchUp)}`, () => {
      assert.equal(lagOf({ state, phase }, { lagSeconds: 5 }), lag);
      assert.equal(catchUpOf({ state, phase }, true, { catchUpSeconds: 9 }), catchUp);
      assert.equal(catchUpOf({ state, phase }, false, { catchUpSeconds: 9 }), null);
    });
  }

  it('is nothing where it is not known: 0 means that both sides are consistent', () => {
    const places = [
      { state: 'RUNNING', phase: 'catalog' },
      { state: 'RUNNING', phase: 'changes' },
      { state: 'COMMITTING', phase: 'changes' },
    ] as const;
    for (const place of places) assert.equal(lagOf(place, { lagSeconds: null }), null);
  });
});
