/** Where the names are in docs/troubleshooting.md: a heading, and the column that leads to what to do. */
const tables = [
  { heading: 'Conditions', column: 3 },
  { heading: 'Error names', column: 1 },
] as const;

/** Conditions: in the table beside the reasons that they have. */
const types = ['Ready', 'Stalled', 'SecretProblem'];

/**
 * The page of each reason of a condition of a ClusterSync, and each error name, that needs a person: its path in docs without the
 * ending, and the anchor.
 * @param troubleshooting - the text of docs/troubleshooting.md. Its first table that has a name wins.
 */
export function helpPagesIn(troubleshooting: string): Map<string, string> {
  const pages = new Map<string, string>();
  for (const { heading, column } of tables) {
    const part = troubleshooting.split(/^## /m).find((each) => each.startsWith(`${heading}\n`));
    for (const line of part?.split('\n') ?? []) {
      if (!line.startsWith('| ')) continue;
      const cells = line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '').trim());
      const [names = ''] = cells;
      const help = cells[column] ?? '';
      const target = /\]\(([^)]+)\)/.exec(help)?.[1];
      if (target === undefined || /^Nothing\b/.test(help)) continue;
      if (names.startsWith('SyncVerification:') || names.endsWith('for long')) continue;
      for (const [, name = ''] of names.matchAll(/`(\w+)`/g)) {
        if (!types.includes(name) && !pages.has(name)) pages.set(name, placeOf(target));
      }
    }
  }
  return pages;
}

function placeOf(target: string): string {
  const [path = '', anchor] = target.split('#');
  const page = path === '' ? 'troubleshooting' : path.replace(/\.md$/, '');
  return anchor === undefined ? page : `${page}#${anchor}`;
}

/** The table of these pages, as a module of the dashboard. */
export function helpPagesModule(troubleshooting: string): string {
  const rows = [...helpPagesIn(troubleshooting)].toSorted(([one], [other]) =>
    one.localeCompare(other),
  );
  return `// Generated from docs/troubleshooting.md by \`npm run generate\`: not to be edited.

/** The page about each reason, and its anchor, as paths in docs without the ending. */
export const helpPages: ReadonlyMap<string, string> = new Map([
${rows.map((row) => `  [${row.map((text) => `'${text}'`).join(', ')}],`).join('\n')}
]);
`;
}
