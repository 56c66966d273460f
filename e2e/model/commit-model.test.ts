import assert from 'node:assert/strict';
import { happenings } from './commit-model.ts';
import { beginning, type Happening, type Model } from './commit-state.ts';
import { wordOf } from './syncer-steps.ts';

/** A state, how it was come to first, and the states that may follow. */
interface Explored {
  readonly model: Model;
  readonly from: string | undefined;
  readonly what: string;
  readonly next: string[];
}

/** Every state that there can be, breadth first: the way to each is one of the shortest. */
function explore(): ReadonlyMap<string, Explored> {
  const states = new Map<string, Explored>();
  const waiting: string[] = [];
  const add = ({ what, next: model }: Happening, from: string | undefined): string => {
    const key = JSON.stringify(model);
    if (!states.has(key)) {
      states.set(key, { model, from, what, next: [] });
      waiting.push(key);
    }
    return key;
  };
  add({ what: 'the beginning', next: beginning }, undefined);
  for (const key of waiting) {
    const state = states.get(key);
    assert.ok(state);
    for (const happening of happenings(state.model)) state.next.push(add(happening, key));
  }
  return states;
}

/** What has happened until a state was reached. */
function storyOf(states: ReadonlyMap<string, Explored>, key: string): string {
  const story: string[] = [];
  for (let at: string | undefined = key; at !== undefined; at = states.get(at)?.from)
    story.unshift(states.get(at)?.what ?? '');
  return `${story.join('; ')}: ${key}`;
}

/** Rejects where a state is as it must never be. */
function assertNever(
  states: ReadonlyMap<string, Explored>,
  what: string,
  isSo: (model: Model) => boolean,
): void {
  const [found] = [...states].filter(([, { model }]) => isSo(model));
  assert.ok(!found, `${what}: ${found ? storyOf(states, found[0]) : ''}`);
}

/** The states from which one of the given ones can be reached, themselves among them. */
function leadingTo(
  states: ReadonlyMap<string, Explored>,
  isEnd: (model: Model) => boolean,
): ReadonlySet<string> {
  const before = new Map<string, string[]>();
  for (const [key, { next }] of states)
    for (const each of next) before.set(each, [...(before.get(each) ?? []), key]);
  const found = new Set([...states].flatMap(([key, { model }]) => (isEnd(model) ? [key] : [])));
  for (const key of found) for (const each of before.get(key) ?? []) found.add(each);
  return found;
}

describe('the model of an automatic commit (decision 24)', function () {
  this.timeout(240_000);
  let states: ReadonlyMap<string, Explored>;
  before(() => {
    states = explore();
  });

  const isGivenBack = ({ hold, isMissed, isAskedFor, size }: Model): boolean =>
    size === 'up' && (hold === null ? isMissed || !isAskedFor : hold.ending !== null);
  const isCommitted = ({ majority, isDoneOnRecord }: Model): boolean =>
    majority === 'committed' && isDoneOnRecord;

  it('has as many states as when it was written', () => {
    assert.equal(states.size, 64_784);
  });

  it('never has an application that was given back and a commit that was carried out', () => {
    assertNever(
      states,
      'lost writes',
      (model) => isGivenBack(model) && model.majority !== 'running',
    );
  });

  it('never has an application that was given back while a commit can still be carried out', () => {
    const committing = leadingTo(states, ({ majority }) => majority !== 'running');
    const [found] = [...states].filter(
      ([key, { model }]) => isGivenBack(model) && committing.has(key),
    );
    assert.ok(!found, found ? storyOf(states, found[0]) : '');
  });

  it('never commits while the application runs', () => {
    assertNever(
      states,
      'it runs',
      ({ size, majority }) => size !== 'down' && majority !== 'running',
    );
  });

  it('never says that a commit is possible, or none under way, from when it was sent until it is known', () => {
    assertNever(states, 'said falsely', ({ syncer, isWriteOnItsWay, primary }) => {
      if (!syncer || (!isWriteOnItsWay && primary === 'running')) return false;
      const { canCommit, commitUnderWay } = wordOf(syncer);
      return canCommit || (commitUnderWay === false && primary !== 'committed');
    });
  });

  it('can come to an end from everywhere: committed, or with everything given back', () => {
    const ending = leadingTo(
      states,
      (model) =>
        model.hold === null &&
        (isCommitted(model) || (model.size === 'up' && (model.isMissed || !model.isAskedFor))),
    );
    const [stuck] = [...states.keys()].filter((key) => !ending.has(key));
    assert.ok(stuck === undefined, stuck === undefined ? '' : storyOf(states, stuck));
  });

  it('meets every kind of happening', () => {
    const met = new Set<string>();
    for (const { model } of states.values())
      for (const { what } of happenings(model)) met.add(what);
    assert.deepEqual([...met].sort(), [
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
