import { glob } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** The root of the checkout. */
export const checkout = new URL('../../', import.meta.url);

const patterns = ['*.md', 'docs/**/*.md', 'charts/**/*.md', 'bench/**/*.md'];

/** The Markdown files of the project, from the root of the checkout, sorted. */
export async function markdownFiles(): Promise<string[]> {
  const files: string[] = [];
  for await (const file of glob(patterns, { cwd: fileURLToPath(checkout) })) files.push(file);
  return files.sort();
}
