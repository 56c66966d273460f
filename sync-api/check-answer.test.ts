import assert from 'node:assert/strict';
import { readCheck, readFindings } from './check-answer.ts';

const finding = { severity: 'warning', name: 'OplogTooShort', message: 'It is.', action: 'Do.' };

describe('readCheck', () => {
  it('reads what a syncer answers', () => {
    const full = { ...finding, side: 'source', namespaces: ['shop.items'] };
    const body = { success: true, canStart: true, findings: [finding, full] };
    assert.deepEqual(readCheck(body), { canStart: true, findings: [finding, full] });
  });

  it('takes nothing for an answer that does not say whether a start is possible', () => {
    for (const body of [
      undefined,
      {},
      { success: true },
      { success: false, canStart: true, findings: [] },
      { success: true, canStart: 'yes', findings: [] },
      { success: true, canStart: true, findings: {} },
    ])
      assert.equal(readCheck(body), undefined);
  });
});

describe('readFindings', () => {
  it('leaves out what is none, and fields of another type', () => {
    const odd = { ...finding, side: 'middle', namespaces: [1, null], action: 3 };
    const found = readFindings([null, 'x', {}, { ...finding, severity: 'fatal' }, odd]);
    assert.deepEqual(found, [{ ...finding, action: '' }]);
    assert.deepEqual(readFindings('none'), []);
  });

  it('redacts connection strings', () => {
    const message = 'mongodb://user:secret@a:27017/ is wrong';
    const [read] = readFindings([{ ...finding, message }]);
    assert.doesNotMatch(JSON.stringify(read), /secret/);
  });
});
