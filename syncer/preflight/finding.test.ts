import assert from 'node:assert/strict';
import { errorTable } from '../../service/error-table.ts';
import { SyncError } from '../../service/errors.ts';
import { findingTable } from './finding-table.ts';
import { answerOf, blocker, note } from './finding.ts';

describe('findingTable', () => {
  it('has names that are CamelCase words, and none of an error', () => {
    for (const name of Object.keys(findingTable)) {
      assert.match(name, /^[A-Z][A-Za-z]+$/);
      assert.ok(!Object.hasOwn(errorTable, name), name);
    }
  });

  it('tells a person what to do, in sentences', () => {
    for (const [name, { action }] of Object.entries(findingTable))
      assert.match(action, /^[A-Z].*\.$/s, name);
  });
});

describe('answerOf', () => {
  const refused = blocker(new SyncError('DestinationNotEmpty', 'it has data'), {
    side: 'destination',
    namespaces: ['a.b'],
  });

  it('puts the most important first, and each once', () => {
    const findings = [
      note('UsersNotCopied', 'two'),
      note('DiskTooSmall', 'small', { side: 'destination' }),
      refused,
      blocker(refused.error),
    ];
    const { canStart, findings: told } = answerOf(findings);
    assert.equal(canStart, false);
    assert.deepEqual(
      told.map(({ severity, name }) => `${severity} ${name}`),
      ['blocker DestinationNotEmpty', 'warning DiskTooSmall', 'advice UsersNotCopied'],
    );
    assert.deepEqual(told[0], {
      severity: 'blocker',
      name: 'DestinationNotEmpty',
      side: 'destination',
      namespaces: ['a.b'],
      message: 'it has data',
      action: errorTable.DestinationNotEmpty.action,
    });
  });

  it('says that a start is possible without a blocker, whatever else there is', () => {
    assert.equal(answerOf([]).canStart, true);
    assert.equal(answerOf([note('DiskTooSmall', 'small')]).canStart, true);
  });

  it('lists at most 100 namespaces, and no password', () => {
    const namespaces = Array.from({ length: 101 }, (_, index) => `a.${index}`);
    const text = 'mongodb://user:secret@a:27017/ is slow';
    const [told] = answerOf([note('DiskTooSmall', text, { namespaces })]).findings;
    assert.equal(told?.namespaces?.length, 100);
    assert.doesNotMatch(told.message, /secret/);
  });
});
