import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';

/** The facts about the machine that the figures of a run depend on most. */
export function machineText(): string {
  return `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'})`;
}

/** The machine's load over the last 15 minutes. */
export function loadText(): string {
  return (loadavg()[2] ?? 0).toFixed(1);
}

/**
 * A table in Markdown.
 * @param texts - the number of columns on the left that hold text; the others hold numbers.
 */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  texts = 0,
): string {
  const rule = head.map((_, column) => (column < texts ? '---' : '---:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

/** Writes `bench/results/<name>.<extension>` for each text. */
export async function writeResults(
  name: string,
  texts: Readonly<Record<string, string>>,
): Promise<void> {
  const folder = fileURLToPath(new URL('results/', import.meta.url));
  await mkdir(folder, { recursive: true });
  for (const [extension, text] of Object.entries(texts))
    await writeFile(`${folder}${name}.${extension}`, text);
}
