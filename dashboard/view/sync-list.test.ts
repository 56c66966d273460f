import assert from 'node:assert/strict';
import { chosen, countGroups, withChanges, type Choice } from './sync-list.ts';
import { rowOf } from './testing/rows.ts';

const stalled = { kind: 'stalled', reason: 'OplogRolledOver', message: '' } as const;
const rows = [
  rowOf('committed', { phase: 'Committed', totalBytes: 5 }),
  rowOf('ready', { commitReadiness: { isReady: true, message: '' }, lagSeconds: 0 }),
  rowOf('copying', { phase: 'InitialCopy', lagSeconds: null, source: 'archive' }),
  rowOf('stalled', { phase: 'Stalled', readiness: stalled, lagSeconds: 50 }),
  rowOf('behind', { lagSeconds: 9 }),
];

function names(choice: Partial<Choice>): string[] {
  return chosen(rows, { group: 'all', search: '', order: 'name', ...choice }).map(
    ({ name }) => name,
  );
}

describe('a list of syncs', () => {
  it('is ordered by who needs somebody, by name, by lag or by size', () => {
    const inOrder = ['stalled', 'copying', 'behind', 'ready', 'committed'];
    assert.deepEqual(names({ order: 'state' }), inOrder);
    assert.deepEqual(names({}), ['behind', 'committed', 'copying', 'ready', 'stalled']);
    assert.deepEqual(names({ order: 'lag' }).slice(0, 2), ['stalled', 'behind']);
    assert.equal(names({ order: 'lag' }).at(-1), 'copying');
    assert.equal(names({ order: 'size' }).at(-1), 'committed');
  });

  it('is narrowed down to a group', () => {
    assert.deepEqual(names({ group: 'attention' }), ['stalled']);
    assert.deepEqual(names({ group: 'changes' }), ['behind', 'ready']);
    assert.deepEqual(names({ group: 'ready' }), ['ready']);
    const counts = { all: 5, attention: 1, copying: 1, changes: 2, ready: 1, committed: 1 };
    assert.deepEqual(countGroups(rows), counts);
  });

  it('is searched for all words, in whichever name', () => {
    assert.deepEqual(names({ search: ' SHOP archive ' }), ['copying']);
    assert.deepEqual(names({ search: 'archive stalled' }), []);
  });

  it('keeps what has not changed as it is', () => {
    const [committed, ready] = rows;
    const changed = rowOf('ready', { lagSeconds: 7 });
    const added = rowOf('added');
    const next = withChanges(rows.slice(0, 3), {
      changed: [changed, added],
      removed: ['shop/copying'],
    });
    assert.deepEqual(next, [committed, changed, added]);
    assert.equal(next[0], committed);
    assert.notEqual(next[1], ready);
  });
});
