import assert from 'node:assert/strict';
import { orderOfFiles } from './file-order.ts';

const files = ['b', 'a', 'd', 'c', 'f', 'e', 'g', 'h', 'i'].map((name) => `suites/${name}.ts`);
const long = ['g.ts', 'b.ts', 'gone.ts'];

describe('the order of files', () => {
  const given = process.env['SEED_DATE'];
  afterEach(() => {
    if (given === undefined) Reflect.deleteProperty(process.env, 'SEED_DATE');
    else process.env['SEED_DATE'] = given;
  });

  function namesOn(day: string, isLimited = true): string {
    process.env['SEED_DATE'] = day;
    return orderOfFiles(files, long, isLimited)
      .map((file) => file.slice('suites/'.length, -'.ts'.length))
      .join('');
  }

  it('begins with the longest if there is time for all', () => {
    assert.equal(namesOn('2026-12-01', false), 'gbacdefhi');
    assert.equal(namesOn('2026-12-02', false), 'gbacdefhi');
  });

  it('lets long ones and others take turns if there may be no time for the last', () => {
    assert.equal(namesOn('2026-12-01'), 'gefbhiacd');
    assert.equal(namesOn('2026-12-02'), 'bhigacdef');
  });

  it('has each file once, on any day, and long ones first and in each place', () => {
    const firsts = new Set<string>();
    for (let day = 1; day <= 28; day++) {
      const names = namesOn(`2026-02-${String(day).padStart(2, '0')}`);
      assert.equal(Array.from(names).sort().join(''), 'abcdefghi');
      firsts.add(names.slice(0, 2));
      assert.match(names, /^[gb]..[gb]/);
    }
    assert.ok(firsts.size >= 7, [...firsts].join());
  });

  it('is that of the others where none is long', () => {
    process.env['SEED_DATE'] = '2026-12-01';
    assert.deepEqual(orderOfFiles(['b', 'a'], [], false), ['a', 'b']);
    assert.equal(new Set(orderOfFiles(['b', 'a'], [], true)).size, 2);
  });
});
