import assert from 'node:assert/strict';
import { querySettingsFindings } from './check-servers.ts';

describe('querySettingsFindings', () => {
  it('says how many are not copied, and nothing if there are none', () => {
    assert.deepEqual(querySettingsFindings(0), []);
    const messages = [1, 2].map((count) => {
      const [found, ...more] = querySettingsFindings(count);
      assert.deepEqual(more, []);
      assert.ok(found?.severity === 'advice');
      assert.deepEqual([found.name, found.side], ['QuerySettingsNotCopied', 'source']);
      return found.message;
    });
    assert.deepEqual(messages, [
      '1 query setting of the source will not be copied',
      '2 query settings of the source will not be copied',
    ]);
  });
});
