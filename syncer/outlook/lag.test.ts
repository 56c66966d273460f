import assert from 'node:assert/strict';
import type { Phase, SyncView } from '../state/records.ts';
import { catchUpOf, lagOf } from './lag.ts';

const cases: [SyncView['state'], Phase, lag: number | null, catchUp: number | null][] = [
  ['RUNNING', 'copy', 5, null],
  ['RUNNING', 'changes', 5, 9],
  ['RUNNING', 'loosening', 5, null],
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

  it('is 0 where nothing has been applied that could be behind', () => {
    assert.equal(lagOf({ state: 'RUNNING', phase: 'catalog' }, { lagSeconds: null }), 0);
  });
});
