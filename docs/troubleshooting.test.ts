import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { errorTable } from '../service/error-table.ts';
import { readPage } from './site/markdown.ts';
import { checkout } from './site/sources.ts';

const read = async (path: string): Promise<string> =>
  await readFile(new URL(path, checkout), 'utf8');

/** A row of a table of the page that begins with a name in backticks, and the first target that it links to. */
interface IndexRow {
  readonly name: string;
  readonly target: string | undefined;
}

/** The rows of the tables below a heading of the second level. */
function rowsBelow(page: string, heading: string): IndexRow[] {
  const part = page.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? '';
  return [...part.matchAll(/^\| `(\w+)` +\|(.*)$/gm)].map(([, name = '', rest = '']) => ({
    name,
    target: /\]\(([^)]+)\)/.exec(rest)?.[1],
  }));
}

describe('docs/troubleshooting.md', () => {
  let page = '';
  let links: readonly string[] = [];

  before(async () => {
    page = await read('docs/troubleshooting.md');
    ({ links } = readPage(page));
  });

  it('has each alert of the chart once, and each with its runbook', async () => {
    const rule = await read('charts/clustersync/templates/prometheusrule.yaml');
    const alerts = rule.split(/^ +- alert: /m).slice(1);
    const wanted = alerts.map((text) => ({
      name: /^\w+/.exec(text)?.[0] ?? '',
      target: `runbooks/${/"([\w-]+\.md)"/.exec(text)?.[1] ?? ''}`,
    }));
    assert.ok(wanted.length > 5);
    const byName = (rows: readonly IndexRow[]): readonly IndexRow[] =>
      rows.toSorted((a, b) => a.name.localeCompare(b.name));
    assert.deepEqual(byName(rowsBelow(page, 'Alerts')), byName(wanted));
  });

  it('has each error name once, and what each leads to is there', () => {
    const rows = rowsBelow(page, 'Error names');
    assert.deepEqual(rows.map(({ name }) => name).toSorted(), Object.keys(errorTable).toSorted());
    // Whether the target is there is what the test of all links says.
    assert.deepEqual(
      rows.filter(({ target }) => target === undefined),
      [],
    );
  });

  it('leads to each runbook', async () => {
    const runbooks = await readdir(new URL('docs/runbooks/', checkout));
    assert.ok(runbooks.length > 5);
    const missing = runbooks.filter(
      (name) => !links.some((link) => link.replace(/#.*/, '') === `runbooks/${name}`),
    );
    assert.deepEqual(missing, []);
  });
});
