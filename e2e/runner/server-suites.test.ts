import assert from 'node:assert/strict';
import { coreTests, coreTestsOfDay } from '../server-suites.ts';

describe('the core of the tests on other servers', () => {
  const variables = ['SEED_DATE', 'ALL_CASES'] as const;
  const given = variables.map((name) => process.env[name]);
  afterEach(() => {
    for (const [index, name] of variables.entries()) {
      const value = given[index];
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
    }
  });

  function patternsOn(day: string, allCases = '0'): readonly string[] {
    process.env['SEED_DATE'] = day;
    process.env['ALL_CASES'] = allCases;
    return Object.values(coreTestsOfDay()).map(({ pattern }) => pattern);
  }

  it('is run by two pairs, a half each, and on the next day the other halves', () => {
    const [one, other] = patternsOn('2026-11-27');
    assert.notEqual(one, other);
    assert.deepEqual(patternsOn('2026-11-28'), [other, one]);
    assert.deepEqual(patternsOn('2026-11-29'), [one, other]);
    for (const half of [one, other]) assert.ok((half?.split(',').length ?? 0) >= 4, half);
  });

  it('is run by both as a whole if all cases are asked for', () => {
    const wholes = patternsOn('2026-11-27', '1').map((pattern) => pattern.split(/[{,}]/).sort());
    const whole = coreTests.pattern.split(/[{,}]/).sort();
    assert.deepEqual(wholes, [whole, whole]);
  });
});
