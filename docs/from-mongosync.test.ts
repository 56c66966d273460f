import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { OptionTable } from '../service/options.ts';
import { syncerOptionTable } from '../syncer/options/syncer-options.ts';
import { verifierOptionTable } from '../verifier/options.ts';
import { openApiDocument } from './openapi/documents.ts';
import { fieldRows } from './openapi/field-table.ts';

/** A row of the page: what mongosync has, and what stands for it here. */
interface Row {
  readonly theirs: readonly string[];
  readonly ours: string;
}

describe('the page about mongosync', () => {
  let page = '';

  before(async () => {
    page = await readFile(new URL('from-mongosync.md', import.meta.url), 'utf8');
  });

  it('names flags that there are, and no flag as missing that there is', () => {
    const [syncer = [], verifier = []] = tablesBelow(page, 'Command line');
    assert.ok(syncer.length > 5 && verifier.length > 1);
    check(syncer, flagsOf(syncerOptionTable), /--\w+/g);
    check(verifier, flagsOf(verifierOptionTable), /--\w+/g);
  });

  it('names fields of start and of progress that there are, and none as missing that there is', async () => {
    const document = await openApiDocument('syncer');
    const namesOf = (schema: string): ReadonlySet<string> =>
      new Set(
        fieldRows(document, schema).flatMap(({ path }) => [path, path.split('.')[0] ?? path]),
      );
    const [start = []] = tablesBelow(page, 'Body of start');
    const [progress = []] = tablesBelow(page, 'Progress');
    assert.ok(start.length > 5 && progress.length > 5);
    check(start, namesOf('StartBody'));
    check(progress, namesOf('SyncProgress'));
  });
});

/** Where it is said that something is the same, it is there; where there is none, it is not; what is named, exists. */
function check(rows: readonly Row[], known: ReadonlySet<string>, named?: RegExp): void {
  for (const { theirs, ours } of rows) {
    if (ours.startsWith('the same')) {
      for (const name of theirs) assert.ok(known.has(name), `${name} is not the same`);
    } else if (ours.startsWith('none')) {
      for (const name of theirs) assert.ok(!known.has(name), `there is a ${name}`);
    } else if (named === undefined) {
      const [, name = ''] = /^`(\w+)`/.exec(ours) ?? [];
      assert.ok(name === '' || known.has(name) || theirs.some((each) => known.has(each)), ours);
    }
    if (named) for (const [name] of ours.matchAll(named)) assert.ok(known.has(name), ours);
  }
}

function flagsOf(table: OptionTable): ReadonlySet<string> {
  return new Set(
    Object.entries(table).flatMap(([name, { secret }]) =>
      secret === true ? [`--${name}`, `--${name}File`] : [`--${name}`],
    ),
  );
}

function tablesBelow(page: string, heading: string): Row[][] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  return [...(section.split('\n## ')[0] ?? '').matchAll(/(?:^\|.*\n)+/gm)].map(([table]) =>
    table
      .trim()
      .split('\n')
      .slice(2)
      .map((line) => {
        const [, left = '', right = ''] = line.split('|').map((cell) => cell.trim());
        return {
          theirs: [...left.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
          ours: right,
        };
      }),
  );
}
