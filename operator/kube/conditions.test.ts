import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  findCondition,
  isConditionTrue,
  removeCondition,
  replaceConditions,
  setCondition,
  type Condition,
  type ConditionDraft,
} from './conditions.ts';

const t0 = Date.UTC(2026, 0, 1);
const t1 = t0 + 60_000;
const ready: ConditionDraft = {
  type: 'Ready',
  status: 'False',
  reason: 'Starting',
  message: 'the pods start',
  observedGeneration: 1,
};
const start = setCondition([], ready, t0);

describe('setCondition', () => {
  it('adds what was not there, with the time of now', () => {
    assert.deepEqual(start, [{ ...ready, lastTransitionTime: '2026-01-01T00:00:00Z' }]);
  });

  it('gives the same array back when nothing is different', () => {
    assert.equal(setCondition(start, { ...ready }, t1), start);
  });

  const keeping: readonly Partial<ConditionDraft>[] = [
    { reason: 'Copying' },
    { message: 'the data is copied' },
    { observedGeneration: 2 },
  ];
  for (const change of keeping) {
    it(`keeps the time when ${Object.keys(change).join()} alone changes`, () => {
      const [condition] = setCondition(start, { ...ready, ...change }, t1);
      assert.deepEqual(condition, {
        ...ready,
        ...change,
        lastTransitionTime: '2026-01-01T00:00:00Z',
      });
    });
  }

  it('moves the time when the status changes', () => {
    const [condition] = setCondition(start, { ...ready, status: 'True' }, t1);
    assert.equal(condition?.lastTransitionTime, '2026-01-01T00:01:00Z');
  });

  it('cuts a long message after it has hidden a password in it, and takes the same for the same', () => {
    const message = `${'x'.repeat(4_070)} mongodb://user:secret@host/ ${'y'.repeat(100_000)}`;
    const set = setCondition(start, { ...ready, message }, t1);
    assert.equal(set[0]?.message.length, 4_096);
    assert.doesNotMatch(set[0].message, /user|secret/);
    assert.equal(setCondition(set, { ...ready, message }, t1), set);
  });

  it('changes nothing that it was given, and leaves other conditions alone', () => {
    const two = setCondition(start, { ...ready, type: 'Stalled' }, t1);
    const copy = structuredClone(two);
    const three = setCondition(two, { ...ready, status: 'Unknown' }, t1);
    assert.deepEqual(two, copy);
    assert.deepEqual(
      three.map(({ type }) => type),
      ['Ready', 'Stalled'],
    );
    assert.equal(three[1], two[1]);
  });
});

describe('removeCondition', () => {
  it('removes, and gives the same array back when it was not there', () => {
    assert.deepEqual(removeCondition(start, 'Ready'), []);
    assert.equal(removeCondition(start, 'Stalled'), start);
  });
});

describe('isConditionTrue', () => {
  it('is false for what is not there', () => {
    assert.equal(isConditionTrue(undefined, 'Ready'), false);
    assert.equal(isConditionTrue(start, 'Ready'), false);
    assert.equal(
      isConditionTrue(setCondition(start, { ...ready, status: 'True' }, t1), 'Ready'),
      true,
    );
  });
});

describe('replaceConditions', () => {
  const draft = fc.record({
    type: fc.constantFrom('Ready', 'Stalled', 'Reconciling'),
    status: fc.constantFrom('True' as const, 'False' as const, 'Unknown' as const),
    reason: fc.constantFrom('One', 'Two'),
    message: fc.constantFrom('', 'x'),
  });
  const drafts = fc.uniqueArray(draft, { selector: ({ type }) => type });

  it('holds the drafts alone, and moves a time only where the status differs', () => {
    fc.assert(
      fc.property(drafts, drafts, (before, after) => {
        const old = replaceConditions([], before, t0);
        const now = replaceConditions(old, after, t1);
        const types = (all: readonly { type: string }[]): string[] =>
          all.map(({ type }) => type).sort();
        assert.deepEqual(types(now), types(after));
        for (const condition of now) {
          const former: Condition | undefined = findCondition(old, condition.type);
          const isKept = former?.status === condition.status;
          assert.equal(condition.lastTransitionTime === '2026-01-01T00:00:00Z', isKept);
        }
        assert.equal(replaceConditions(now, after, t1 + 1), now);
      }),
    );
  });
});
