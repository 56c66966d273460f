import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { firstCommands } from './first-steps.ts';

describe('firstCommands', () => {
  it('create the Secrets of the guide, which the example names', async () => {
    const textOf = async (path: string): Promise<string> =>
      await readFile(new URL(`../../docs/${path}`, import.meta.url), 'utf8');
    const [guide, example] = [await textOf('guide.md'), await textOf('examples/clustersync.yaml')];
    const [one, other] = firstCommands;
    for (const command of [one, other]) {
      assert.ok(guide.includes(command), command);
      const [, secret = ''] = /generic (\S+)/.exec(command) ?? [];
      assert.ok(example.includes(`name: ${secret}`), secret);
    }
    assert.ok(guide.includes('## On Kubernetes'));
  });
});
