import assert from 'node:assert/strict';
import { RetryWarnings } from './retry-warnings.ts';

describe('RetryWarnings', () => {
  let nowMs: number;
  let retryWarnings: RetryWarnings;
  beforeEach(() => {
    nowMs = 1_000;
    retryWarnings = new RetryWarnings(() => nowMs);
  });

  it('tells of work that has failed for some seconds, with the latest reason', () => {
    const copy = retryWarnings.watch('copy');
    copy.set('no primary');
    nowMs += 2_900;
    assert.deepEqual(retryWarnings.warnings(), []);
    copy.set('connection refused');
    nowMs += 1_100;
    assert.deepEqual(retryWarnings.warnings(), ['copy: trying again for 4 s: connection refused']);
  });

  it('tells of what takes time by itself only when it has for longer', () => {
    using apply = retryWarnings.watch('apply', 'waiting', 10_000);
    apply.set('no answer');
    nowMs += 9_900;
    assert.deepEqual(retryWarnings.warnings(), []);
    nowMs += 100;
    assert.deepEqual(retryWarnings.warnings(), ['apply: waiting for 10 s: no answer']);
  });

  it('tells once of work that fails in several places, from the first failure on', () => {
    const [first, second] = [retryWarnings.watch('copy'), retryWarnings.watch('copy')];
    first.set('one');
    nowMs += 5_000;
    second.set('two');
    assert.deepEqual(retryWarnings.warnings(), ['copy: trying again for 5 s: two']);
    first.clear();
    nowMs += 3_000;
    assert.deepEqual(retryWarnings.warnings(), ['copy: trying again for 3 s: two']);
  });

  it('says nothing of work that has succeeded, or has ended', () => {
    const copy = retryWarnings.watch('copy');
    copy.set('one');
    {
      using ended = retryWarnings.watch('apply');
      ended.set('two');
    }
    nowMs += 10_000;
    assert.equal(retryWarnings.warnings().length, 1);
    copy.clear();
    assert.deepEqual(retryWarnings.warnings(), []);
  });
});
