import assert from 'node:assert/strict';
import { corePairs } from '../e2e/server-suites.ts';
import { pairRows, readServerPairs, type TestedPair } from './server-pairs.ts';

describe('the table of pairs of servers', () => {
  const pair: TestedPair = {
    ...{ source: '6.0.27', destination: '7.0.28', on: '2026-11-25' },
    ...{ tests: 'all', router: 'router of the tests', passed: 700, failed: 0 },
  };

  it('has each pair that a sync may have, and says which are not tested', () => {
    const rows = pairRows([pair]);
    assert.deepEqual(
      rows.map(([source, destination]) => `${source}-${destination}`),
      ['6.0-6.0', '6.0-7.0', '6.0-8.0', '7.0-7.0', '7.0-8.0', '8.0-8.0'],
    );
    const tested = rows.filter(([, , text]) => text !== 'not tested');
    assert.deepEqual(tested, [
      [
        '6.0',
        '7.0',
        'tested: 6.0.27 to 7.0.28, all tests (700), shards behind the router of the tests, 2026-11-25',
      ],
    ]);
  });

  it('says how many tests fail', () => {
    const text = pairRows([{ ...pair, tests: 'core', router: 'mongos', failed: 2 }])[1]?.[2] ?? '';
    assert.match(text, /^tested, \*\*2 tests fail\*\*: .* the core \(700\), shards behind mongos/);
  });

  it('has a result of each pair that every test run tries', async () => {
    const tested = await readServerPairs();
    for (const servers of corePairs) {
      const [source = '', destination = ''] = servers.split('-');
      const found = tested.find(
        (one) =>
          one.source.startsWith(`${source}.`) && one.destination.startsWith(`${destination}.`),
      );
      assert.ok(found !== undefined && found.passed > 0, servers);
    }
  });
});
