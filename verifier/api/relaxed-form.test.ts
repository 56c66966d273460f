import assert from 'node:assert/strict';
import { relaxedForm } from './relaxed-form.ts';

describe('relaxedForm', () => {
  const cases: [string, unknown][] = [
    ['{"$numberInt":"-7"}', -7],
    ['{"$numberLong":"9007199254740991"}', 9007199254740991],
    ['{"$numberLong":"9007199254740993"}', { $numberLong: '9007199254740993' }],
    ['{"$numberDouble":"1.5"}', 1.5],
    ['{"$numberDouble":"-0.0"}', { $numberDouble: '-0.0' }],
    ['{"$numberDouble":"NaN"}', { $numberDouble: 'NaN' }],
    ['{"$numberDecimal":"1"}', { $numberDecimal: '1' }],
    ['{"$oid":"5f0000000000000000000001"}', { $oid: '5f0000000000000000000001' }],
    ['{"$date":{"$numberLong":"0"}}', { $date: '1970-01-01T00:00:00Z' }],
    ['{"$date":{"$numberLong":"1500"}}', { $date: '1970-01-01T00:00:01.500Z' }],
    ['{"$date":{"$numberLong":"-1"}}', { $date: { $numberLong: '-1' } }],
    ['{"a":{"$numberInt":"1"},"b":[{"$numberInt":"2"},"c",null]}', { a: 1, b: [2, 'c', null] }],
    ['"text"', 'text'],
    ['"a shortened tex...', '"a shortened tex...'],
  ];
  for (const [canonical, relaxed] of cases) {
    it(`of ${canonical}`, () => {
      assert.deepEqual(relaxedForm(canonical), relaxed);
    });
  }
});
