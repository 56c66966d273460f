import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyTree } from './tree-copy.ts';

describe('copyTree', () => {
  let root: string;
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: root,
      encoding: 'utf8',
    });
  const write = (file: string, text: string): void => {
    writeFileSync(join(root, file), text);
  };

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'tree-'));
    git('init', '--quiet');
    write('.gitignore', 'node_modules/\n');
    for (const file of ['kept', 'changed', 'deleted']) write(file, 'committed');
    git('add', '.');
    git('commit', '--quiet', '--message', 'all');
    mkdirSync(join(root, 'node_modules'));
    write('node_modules/package', 'installed');
    write('changed', 'not committed');
    write('new', 'not committed');
    rmSync(join(root, 'deleted'));
  });

  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  it('has what is not committed, and the packages', async () => {
    await using copy = await copyTree(root);
    const read = (file: string): string => readFileSync(join(copy.path, file), 'utf8');
    assert.equal(read('kept'), 'committed');
    assert.equal(read('changed'), 'not committed');
    assert.equal(read('new'), 'not committed');
    assert.equal(read('node_modules/package'), 'installed');
    assert.ok(!existsSync(join(copy.path, 'deleted')));
  });

  it('is gone when it is disposed of, from the list of Git as well, and leaves the checkout as it was', async () => {
    const status = git('status', '--short');
    const copy = await copyTree(root);
    writeFileSync(join(copy.path, 'changed'), 'by a test');
    await copy[Symbol.asyncDispose]();
    assert.ok(!existsSync(copy.folder));
    assert.equal(git('worktree', 'list').trim().split('\n').length, 1);
    assert.equal(git('status', '--short'), status);
    assert.equal(readFileSync(join(root, 'changed'), 'utf8'), 'not committed');
  });
});
