import assert from 'node:assert/strict';
import { happeningsOf } from './instances-model.ts';
import { allRules, beginningOf, type Bounds, type Model, type Rule } from './instances-state.ts';
import { StateSpace } from './search.ts';

function explore(bounds: Bounds, without?: Rule): StateSpace<Model> {
  const rules = without === undefined ? allRules : { ...allRules, [without]: false };
  return new StateSpace(beginningOf(bounds), happeningsOf(rules, bounds), { isWrong });
}

function isWrong({ wrong }: Model): boolean {
  return wrong !== null;
}

const two: Bounds = {
  ...{ instances: 2, changes: 3 },
  ...{ kills: 0, lapses: 0, cuts: 0 },
  isCommitted: true,
};

/** The states were counted when the model was written. */
const explorations: readonly (readonly [what: string, bounds: Bounds, states: number])[] = [
  ['two instances', two, 5_914],
  ['three instances', { ...two, instances: 3, changes: 2 }, 51_780],
  ['two instances, and a lease that passes to the other', { ...two, lapses: 2 }, 100_918],
  ['two instances, one of which is killed', { ...two, changes: 2, kills: 1, lapses: 1 }, 71_139],
  [
    'two instances, and a connection that is cut',
    { ...two, changes: 2, cuts: 1, lapses: 2 },
    52_453,
  ],
];

/** What goes wrong without a rule. */
const mutations: Readonly<Record<Rule, readonly [wrong: RegExp, bounds: Partial<Bounds>]>> = {
  'a lease outlasts the trust in it': [/took effect late/, { lapses: 1, isCommitted: false }],
  'the lease is checked when a change is sent': [/late/, { lapses: 2, isCommitted: false }],
  'a coordinator waits for what the server runs': [
    /after another coordinator/,
    { lapses: 2, isCommitted: false },
  ],
  'a coordinator waits for what the network holds': [
    /after another coordinator/,
    { lapses: 2, isCommitted: false },
  ],
  'another lease is taken over again': [
    /late/,
    { changes: 2, kills: 1, lapses: 3, isCommitted: false },
  ],
  'a change of the catalog waits for all': [/before everything that precedes it/, {}],
  'an arrival stores what was applied': [/before everything that precedes it/, {}],
  'a process waits for what the one before it has sent': [
    /after a later change/,
    { kills: 1, isCommitted: false },
  ],
  'the place of a change is stored once it is done': [/took effect late/, { isCommitted: false }],
  'the time waits until all have the command': [/not before the commit/, {}],
  'the intention is stored before the time is taken': [/not before the commit/, {}],
  'the time is looked up after reading': [/not before the commit/, {}],
  'the time is stored once': [/fixed twice/, { changes: 2, lapses: 2 }],
  'the commit waits for all': [/changes ended/, {}],
};

describe('the model of several instances', function () {
  this.timeout(240_000);

  for (const [what, bounds, states] of explorations)
    it(`is never wrong, and always comes to COMMITTED: ${what}`, () => {
      const space = explore(bounds);
      assert.equal(space.wayTo(isWrong), undefined);
      assert.equal(
        space.wayToStuck(({ sync }) => sync.state === 'COMMITTED'),
        undefined,
      );
      assert.equal(space.size, states);
    });

  for (const [rule, [wrong, bounds]] of Object.entries(mutations))
    it(`goes wrong without a rule: ${rule}`, () => {
      const space = explore({ ...two, ...bounds }, rule as Rule);
      assert.match(space.wayTo(isWrong) ?? 'nothing is wrong', wrong);
    });
});
