import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../../ground/command.ts';
import { createGuardedFolder, type GuardedFolder } from '../../ground/guarded-folder.ts';
import { skipBecause } from '../../runner/skip.ts';

const program = fileURLToPath(new URL('../../../bin/clustersync.ts', import.meta.url));

/** What each shell offers for the last of the words. */
const asking = {
  // The shell's own builtin works within its line editor alone: here it prints what it is given.
  zsh: (script: string, words: readonly string[]) => `
    compdef() { : }
    compadd() { shift; print -l -- "$@" }
    _files() { print files }
    source '${script}'
    words=(clustersync ${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length + 1}
    _clustersync`,
  fish: (script: string, words: readonly string[]) => `
    source '${script}'
    complete -C 'clustersync ${words.join(' ')}'`,
} as const;

/** Words, and what has to be among what is offered for them. */
const cases: readonly (readonly [readonly string[], readonly string[]])[] = [
  [[''], ['run', 'syncer', 'completion']],
  [['ru'], ['run']],
  [
    ['check', '--output', ''],
    ['text', 'sarif'],
  ],
  [
    ['run', '--'],
    ['--source-file', '--dry-run', '--output'],
  ],
  [
    ['run', '--output', ''],
    ['text', 'json', 'yaml'],
  ],
  [['verifier', 're'], ['report']],
  [['run', '--build-indexes', ''], ['never']],
  [['verifier', 'report', ''], ['--format']],
];

for (const shell of ['zsh', 'fish'] as const) {
  describe(`the completion script, in ${shell}`, function () {
    let folder: GuardedFolder;
    let script = '';

    before(async function () {
      if (spawnSync(shell, ['--version']).error) skipBecause(this, `${shell} is not installed`);
      folder = await createGuardedFolder();
      script = join(folder.path, 'script');
      await writeFile(script, await run(process.execPath, [program, 'completion', shell]));
    });

    after(async () => {
      await (folder as GuardedFolder | undefined)?.remove();
    });

    async function offered(words: readonly string[]): Promise<string[]> {
      const output = await run(shell, ['-c', asking[shell](script, words)]);
      return output.split('\n').map((line) => line.replace(/\t.*/, ''));
    }

    for (const [words, expected] of cases) {
      it(`offers ${expected.join(', ')} for ${JSON.stringify(words)}`, async () => {
        const found = await offered(words);
        for (const word of expected) assert.ok(found.includes(word), `${word}: ${found.join(' ')}`);
      });
    }

    it('offers files where a flag takes one, and nothing where it takes anything', async () => {
      const [file = ''] = await offered(['run', '--source-file', join(folder.path, 'scr')]);
      assert.ok(shell === 'zsh' ? file === 'files' : file.endsWith('script'), file);
      assert.deepEqual(await offered(['run', '--source', '']), ['']);
    });
  });
}
