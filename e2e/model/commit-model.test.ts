import assert from 'node:assert/strict';
import { happenings } from './commit-model.ts';
import { beginning, type Model } from './commit-state.ts';
import { StateSpace } from './search.ts';
import { wordOf } from './syncer-steps.ts';

describe('the model of an automatic commit (decision 24)', function () {
  this.timeout(240_000);
  let states: StateSpace<Model>;
  before(() => {
    states = new StateSpace(beginning, happenings);
  });

  const isGivenBack = ({ hold, isMissed, isAskedFor, size }: Model): boolean =>
    size === 'up' && (hold === null ? isMissed || !isAskedFor : hold.ending !== null);
  const isCommitted = ({ majority, isDoneOnRecord }: Model): boolean =>
    majority === 'committed' && isDoneOnRecord;

  it('has as many states as when it was written', () => {
    assert.equal(states.size, 121_964);
  });

  it('never has an application that was given back and a commit that was carried out', () => {
    const isLost = (model: Model): boolean => isGivenBack(model) && model.majority !== 'running';
    assert.equal(states.wayTo(isLost), undefined);
  });

  it('never has an application that was given back while a commit can still be carried out', () => {
    const committing = states.wayToBefore(isGivenBack, ({ majority }) => majority !== 'running');
    assert.equal(committing, undefined);
  });

  it('never commits while the application runs', () => {
    const runs = states.wayTo(({ size, majority }) => size !== 'down' && majority !== 'running');
    assert.equal(runs, undefined);
  });

  it('never says that a commit is possible, or none under way, from when it was sent until it is known', () => {
    const saidFalsely = states.wayTo(({ syncer, isWriteOnItsWay, primary }) => {
      if (!syncer || (!isWriteOnItsWay && primary === 'running')) return false;
      const { canCommit, commitUnderWay } = wordOf(syncer);
      return canCommit || (commitUnderWay === false && primary !== 'committed');
    });
    assert.equal(saidFalsely, undefined);
  });

  it('can come to an end from everywhere: committed, or with everything given back', () => {
    const stuck = states.wayToStuck(
      (model) =>
        model.hold === null &&
        (isCommitted(model) || (model.size === 'up' && (model.isMissed || !model.isAskedFor))),
    );
    assert.equal(stuck, undefined);
  });

  it('meets every kind of happening', () => {
    assert.deepEqual(states.kinds, [
      'a majority acknowledges',
      'a majority answers',
      'a majority has it',
      'a request arrives',
      'a request arrives for which nobody waits',
      'it is rolled back',
      'nobody asks for it any more',
      'proofs become old',
      'the commit is completed',
      'the commit is refused',
      'the commit is sent to the store',
      'the deadline is over',
      'the operator gives the request up',
      'the operator is restarted',
      'the operator takes a step',
      'the pods end',
      'the record is read',
      'the record of a former process is taken up',
      'the syncer answers',
      'the syncer cannot be reached',
      'the syncer is killed',
      'the syncer starts',
      'the syncer works',
      'the write comes',
      'the write is lost',
      'the write is repeated',
      'time goes by',
    ]);
  });
});
