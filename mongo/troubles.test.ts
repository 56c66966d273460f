import assert from 'node:assert/strict';
import { Troubles } from './troubles.ts';

describe('Troubles', () => {
  let nowMs: number;
  let troubles: Troubles;
  beforeEach(() => {
    nowMs = 1_000;
    troubles = new Troubles(() => nowMs);
  });

  it('tells of work that has failed for some seconds, with the latest reason', () => {
    const copy = troubles.watch('copy');
    copy.set('no primary');
    nowMs += 2_900;
    assert.deepEqual(troubles.warnings(), []);
    copy.set('connection refused');
    nowMs += 1_100;
    assert.deepEqual(troubles.warnings(), ['copy: trying again for 4 s: connection refused']);
  });

  it('tells of what takes time by itself only when it has for longer', () => {
    using apply = troubles.watch('apply', 'waiting', 10_000);
    apply.set('no answer');
    nowMs += 9_900;
    assert.deepEqual(troubles.warnings(), []);
    nowMs += 100;
    assert.deepEqual(troubles.warnings(), ['apply: waiting for 10 s: no answer']);
  });

  it('tells once of work that fails in several places, from the first failure on', () => {
    const [first, second] = [troubles.watch('copy'), troubles.watch('copy')];
    first.set('one');
    nowMs += 5_000;
    second.set('two');
    assert.deepEqual(troubles.warnings(), ['copy: trying again for 5 s: two']);
    first.clear();
    nowMs += 3_000;
    assert.deepEqual(troubles.warnings(), ['copy: trying again for 3 s: two']);
  });

  it('says nothing of work that has succeeded, or has ended', () => {
    const copy = troubles.watch('copy');
    copy.set('one');
    {
      using ended = troubles.watch('apply');
      ended.set('two');
    }
    nowMs += 10_000;
    assert.equal(troubles.warnings().length, 1);
    copy.clear();
    assert.deepEqual(troubles.warnings(), []);
  });
});
