import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../../ground/command.ts';
import { createGuardedFolder, type GuardedFolder } from '../../ground/guarded-folder.ts';
import { until } from '../../ground/until.ts';

const program = fileURLToPath(new URL('../../../bin/clustersync.ts', import.meta.url));
const terminalHelper = fileURLToPath(new URL('../../ground/terminal.py', import.meta.url));

/** Names that run `touch ran`, or become other words, where a shell reads them as a part of a command. */
const hostileNames = [
  '$(touch ran)',
  '`touch ran`',
  'a;touch ran;',
  "a';touch ran;'",
  'a"$(touch ran)"',
  'a\n$(touch ran)',
  'a\\$(touch ran)',
  'a b  c',
  '*',
  '~root',
  '{a,b}',
  'a!!',
  '<(touch ran)',
  '>ran',
  '\u001b[2J',
];

// Only a terminal shows what readline makes of a candidate: a shell that is asked for candidates inserts none.
describe('the completion script, in bash, at a terminal', () => {
  let folder: GuardedFolder;
  let shell: ChildProcess;

  before(async () => {
    folder = await createGuardedFolder();
    const { path } = folder;
    // The executable is replaced by a script that prints its arguments.
    const rc = [
      await run(process.execPath, [program, 'completion', 'bash']),
      `clustersync() { printf '%s\\0' "$@" end > '${path}/words'; }`,
      `cd '${path}'`,
      "PS1='ready> '",
      '',
    ];
    await writeFile(join(path, 'rc'), rc.join('\n'));
    const command = ['bash', '--noprofile', '--rcfile', join(path, 'rc'), '-i'];
    const env = { INPUTRC: '/dev/null', HISTFILE: '', LANG: 'C.UTF-8', TERM: 'xterm' };
    shell = folder.spawn('python3', [terminalHelper, ...command], 'output', { input: 'pipe', env });
    await until('bash is ready', async () => (await shown()).includes('ready> '));
  });

  after(async () => {
    await folder.remove();
  });

  beforeEach(async () => {
    await rm(join(folder.path, 'ran'), { force: true });
  });

  async function shown(): Promise<string> {
    return await readFile(join(folder.path, 'output'), 'utf8');
  }

  /** Types keys and Enter. @returns the words of the command that bash then runs. */
  async function wordsOf(keys: string): Promise<string[]> {
    const file = join(folder.path, 'words');
    await rm(file, { force: true });
    shell.stdin?.write(`${keys}\n`);
    let words = '';
    await until(`a command is run; at last the terminal shows ${await shown()}`, async () => {
      words = await readFile(file, 'utf8').catch(() => '');
      return words.endsWith('\0end\0');
    });
    return words.split('\0').slice(0, -2);
  }

  for (const [index, name] of hostileNames.entries()) {
    it(`inserts the name of a file as one word, and runs nothing in it: ${JSON.stringify(name)}`, async () => {
      const inside = `of${index}`;
      await mkdir(join(folder.path, inside));
      await writeFile(join(folder.path, inside, name), '');
      const words = await wordsOf(`clustersync run --source-file ${inside}/\t`);
      assert.deepEqual(words, ['run', '--source-file', `${inside}/${name}`]);
      assert.ok(!(await readdir(folder.path)).includes('ran'));
    });
  }

  it('inserts a file of a folder with such a name, and runs nothing in it', async () => {
    const path = join('deep', '$(touch ran)');
    await mkdir(join(folder.path, path), { recursive: true });
    await writeFile(join(folder.path, path, 'uri'), '');
    const words = await wordsOf('clustersync run --source-file deep/\t\t');
    assert.deepEqual(words, ['run', '--source-file', join(path, 'uri')]);
    assert.ok(!(await readdir(folder.path)).includes('ran'));
  });

  it('completes commands, though a folder has the name of one, and no file where anything may stand', async () => {
    await mkdir(join(folder.path, 'progress'));
    assert.deepEqual(await wordsOf('clustersync prog\t--watch'), ['progress', '--watch']);
    await writeFile(join(folder.path, 'progress', 'only'), '');
    const words = await wordsOf('clustersync run --source progress/\t');
    assert.deepEqual(words, ['run', '--source', 'progress/']);
  });
});
