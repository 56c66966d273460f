import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { nodeOptions, nodeOptionsVariable } from './node-options.ts';

describe('the options of Node', () => {
  it('are those of the image, and of the one that the end-to-end tests build by hand', async () => {
    const read = async (path: string): Promise<string> =>
      await readFile(new URL(`../${path}`, import.meta.url), 'utf8');
    const given = `${nodeOptionsVariable}=${nodeOptions}`;
    const lines = (await read('Dockerfile')).split('\n');
    const final = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
    assert.ok(final.includes(`ENV ${given}`), final.join('\n'));
    assert.ok((await read('e2e/ground/kubernetes/image-parts.sh')).includes(`"${given}"`));
  });
});
