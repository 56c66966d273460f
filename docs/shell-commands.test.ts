import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { readPage } from './site/markdown.ts';
import { checkout, markdownFiles } from './site/sources.ts';

const commandPattern =
  /(?<!kubectl )\bclustersync (verifier report|syncer|verifier|operator|run|status|pause|resume|commit|reverse|repair|limits|reset|progress|report)(?= |$)(.*)/;

/** The flags of each command, from the reference that is made of the programs' own tables. */
async function knownFlags(): Promise<Map<string, Set<string>>> {
  const reference = await readFile(new URL('docs/reference/options.md', checkout), 'utf8');
  const known = new Map<string, Set<string>>();
  for (const section of reference.split('\n## clustersync ').slice(1)) {
    const [heading = ''] = section.split('\n');
    const flags = new Set(['--help']);
    for (const [line, flag = ''] of section.matchAll(/^\| `(--\w[\w-]*)`.*$/gm)) {
      flags.add(flag);
      if (line.includes('Secret.')) flags.add(`${flag}File`).add(`${flag}-file`);
    }
    for (const command of heading.split(', ')) known.set(command, flags);
  }
  return known;
}

describe('the commands that the documentation shows', () => {
  it('have flags that there are', async () => {
    const known = await knownFlags();
    const wrong: string[] = [];
    let count = 0;
    for (const path of await markdownFiles()) {
      const { codeBlocks } = readPage(await readFile(new URL(path, checkout), 'utf8'));
      for (const { text } of codeBlocks.filter(({ language }) => language === 'sh')) {
        for (const line of text.replaceAll(/ *\\\n */g, ' ').split('\n')) {
          const [, command = '', rest = ''] = commandPattern.exec(line) ?? [];
          if (command === '' || line.startsWith('helm ')) continue;
          count++;
          const flags = [...rest.replace(/ #.*/, '').matchAll(/ (--\w[\w-]*)/g)];
          for (const [, flag = ''] of flags)
            if (known.get(command)?.has(flag) !== true) wrong.push(`${path}: ${line}`);
        }
      }
    }
    assert.deepEqual(wrong, []);
    assert.ok(count > 15, String(count));
  });
});
