import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SyncError } from './errors.ts';
import { readTextFile, readYamlFile } from './text-file.ts';

describe('a file that an option names', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'text-file-'));
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  const written = async (text: string | Buffer): Promise<string> => {
    const path = join(folder, 'file');
    await writeFile(path, text);
    return path;
  };
  const refused = (run: () => unknown): string => {
    try {
      run();
    } catch (error) {
      assert.ok(error instanceof SyncError, String(error));
      assert.equal(error.name, 'InvalidOption');
      assert.match(error.message, /^--config: /);
      return error.message;
    }
    throw new Error('it was taken');
  };
  const at = (path: string): { readonly path: string; readonly option: string } => {
    return { path, option: '--config' };
  };

  it('is read unchanged, under any name', async () => {
    const path = await written('a: "é"\n');
    await symlink(path, join(folder, 'link'));
    assert.equal(readTextFile(at(join(folder, 'link'))), 'a: "é"\n');
    assert.deepEqual(readYamlFile(at(path)), { a: 'é' });
  });

  it('is read only up to a limit', async () => {
    assert.match(
      refused(() => readTextFile(at('/dev/zero'))),
      /more than 4194304 bytes/,
    );
    const path = await written(Buffer.alloc(4 * 1024 * 1024 + 1, 'a'));
    refused(() => readTextFile(at(path)));
    refused(() => readYamlFile(at(path)));
  });

  it('is named in the error if it cannot be read', () => {
    for (const path of [folder, join(folder, 'none')])
      assert.match(
        refused(() => readTextFile(at(path))),
        /cannot be read$/,
      );
  });

  const broken: Readonly<Record<string, string>> = {
    'a text that does not end': 'apiToken: "hunter2\n',
    'an open list': 'password hunter2: [\n',
    'the same name twice': 'hunter2: a\nhunter2: b\n',
    'an alias of nothing': 'apiToken: *hunter2\n',
    'a tag of its own': 'apiToken: !hunter2 x\n',
    'several documents': 'apiToken: hunter2\n---\napiToken: hunter2\n',
    'levels without end': '['.repeat(100_000),
    'aliases of aliases': [
      'a: &a [hunter2, hunter2]',
      ...Array.from({ length: 20 }, (_, n) => {
        const [from, to] = [n, n + 1].map((each) => String.fromCharCode(97 + each));
        return `${to}: &${to} [${Array(9).fill(`*${from}`).join(', ')}]`;
      }),
    ].join('\n'),
  };
  for (const [what, text] of Object.entries(broken))
    it(`is refused without quoting its content: ${what}`, async () => {
      const path = await written(text);
      const message = refused(() => readYamlFile(at(path)));
      assert.doesNotMatch(message, /hunter2/);
      assert.ok(message.length < 300, message);
    });
});
