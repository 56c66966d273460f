import assert from 'node:assert/strict';
import { SyncError } from '../../service/errors.ts';
import { patienceMs, PatientReading } from './patient-reading.ts';

const signal = new AbortController().signal;
const unreachable = new SyncError('ToolUnreachable', 'the connection to the server was refused');

/** A reading by a clock that is set, whose next answer is given. */
function scene() {
  const state: { nowMs: number; answer: Error | undefined } = { nowMs: 5, answer: undefined };
  const reading = new PatientReading(
    async () => {
      await Promise.resolve();
      if (state.answer) throw state.answer;
      return { at: state.nowMs };
    },
    ({ name }) => name === 'ToolUnreachable',
    () => state.nowMs,
  );
  return { state, next: async () => await reading.next(signal) };
}

describe('PatientReading', () => {
  it('returns a failure for a minute from the first one on, then throws it', async () => {
    const { state, next } = scene();
    assert.deepEqual(await next(), { at: 5 });
    state.nowMs = 1_000_000;
    state.answer = unreachable;
    assert.equal(await next(), unreachable);
    state.nowMs += patienceMs - 1;
    assert.equal(await next(), unreachable);
    state.nowMs += 1;
    await assert.rejects(next(), unreachable);
  });

  it('has its whole patience again after a success', async () => {
    const { state, next } = scene();
    state.answer = unreachable;
    assert.equal(await next(), unreachable);
    state.nowMs += patienceMs - 1;
    state.answer = undefined;
    assert.deepEqual(await next(), { at: state.nowMs });
    state.nowMs += patienceMs;
    state.answer = unreachable;
    assert.equal(await next(), unreachable);
  });

  it('throws what does not pass', async () => {
    for (const answer of [new SyncError('InvalidOption', 'wrong'), new Error('aborted')]) {
      const { state, next } = scene();
      state.answer = answer;
      await assert.rejects(next(), answer);
    }
  });
});
