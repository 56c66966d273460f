import assert from 'node:assert/strict';
import { allRules, beginning, happeningsOf, isReversed, type Model } from './handover-model.ts';
import { StateSpace } from './search.ts';

type Rule = keyof typeof allRules;

function explore(without?: Rule): StateSpace<Model> {
  const rules = without === undefined ? allRules : { ...allRules, [without]: false };
  return new StateSpace(beginning, happeningsOf(rules), { isWrong });
}

function isWrong({ wrong }: Model): boolean {
  return wrong !== null;
}

/** What goes wrong without a rule. */
const mutations: Readonly<Record<Rule, RegExp>> = {
  'a process waits for what others have sent, and for their right to end':
    /without the rest of its state/,
  'moving needs the right': /without the rest of its state/,
  'clearing needs the right': /without the rest of its state/,
  'the record is written last': /without the rest of its state/,
  'of two records that with more reversals counts': /the former record is found/,
  'a record that is there already is not written again': /another sync was found/,
  'the instance is not taken over after a move': /taken from the process/,
};

describe('the model of a hand-over', function () {
  this.timeout(240_000);
  let space: StateSpace<Model>;
  before(() => {
    space = explore();
  });

  it('has as many states as when it was written', () => {
    assert.equal(space.size, 165_966);
  });

  it('has one record that counts, with all of its state, whatever process is killed or frozen', () => {
    assert.equal(space.wayTo(isWrong), undefined);
  });

  it('can always come to its end: reversed, with nothing left where the state was', () => {
    assert.equal(space.wayToStuck(isReversed), undefined);
  });

  it('meets every kind of happening', () => {
    assert.deepEqual(space.kinds, [
      'a confirmation becomes old',
      'a move begins',
      'a process applies changes',
      'a process is killed',
      'a process is started',
      'a process is superseded',
      'a record is dropped',
      'a write is lost',
      'a write takes effect',
      'a write takes effect, and its answer is lost',
      'an instance is claimed',
      'clearing begins',
      'it is committed and reversed again',
      'the catalog is put',
      'the new place is looked at',
      'the preparation ends',
      'the record is created',
      'the rest is dropped',
      'the right is confirmed',
      'the state is found moved',
      'the state is there already',
    ]);
  });

  for (const [rule, wrong] of Object.entries(mutations))
    it(`goes wrong without a rule: ${rule}`, () => {
      assert.match(explore(rule as Rule).wayTo(isWrong) ?? 'nothing is wrong', wrong);
    });
});
