import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import { Backlog } from './backlog.ts';

const at = (t: number): Timestamp => new Timestamp({ t, i: 1 });

describe('Backlog', () => {
  it('is the drain of the copy until everything is applied that the source had then', () => {
    const backlog = new Backlog();
    assert.equal(backlog.stageAt(at(1)), null);
    backlog.begin(true);
    assert.equal(backlog.stageAt(at(1)), 'collection copy drain');
    backlog.reaches(at(5));
    backlog.reaches(at(9));
    assert.equal(backlog.stageAt(null), 'collection copy drain');
    assert.equal(backlog.stageAt(at(4)), 'collection copy drain');
    assert.equal(backlog.stageAt(at(5)), 'steady state');
  });

  it('is not said to be of the copy by a process that has not seen it end', () => {
    const backlog = new Backlog();
    backlog.begin(false);
    backlog.reaches(at(5));
    assert.equal(backlog.stageAt(at(4)), null);
    assert.equal(backlog.stageAt(at(5)), 'steady state');
    backlog.clear();
    assert.equal(backlog.stageAt(at(5)), null);
  });
});
