import assert from 'node:assert/strict';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isUnchanged, notePassed } from './unchanged-types.ts';

describe('a project whose types have been checked', () => {
  let root: string;
  const project = () => ({ folder: 'page', buildInfo: join(root, 'cache/0.tsbuildinfo') });

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'unchanged-types-'));
    for (const folder of ['cache', 'page', 'shared']) mkdirSync(join(root, folder));
    for (const path of ['tsconfig.json', 'page/tsconfig.json', 'page/app.ts', 'shared/text.ts'])
      writeFileSync(join(root, path), '');
    const fileNames = ['../page/app.ts', '../shared/text.ts', '../../elsewhere/lib.d.ts'];
    writeFileSync(project().buildInfo, JSON.stringify({ fileNames }));
  });

  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  it('is changed before a check has passed, and unchanged after it', () => {
    assert.ok(!isUnchanged(project(), root));
    notePassed([project()], Date.now() + 1);
    assert.ok(isUnchanged(project(), root));
  });

  const changes: Readonly<Record<string, () => void>> = {
    'a file of its own changes': () => {
      appendFileSync(join(root, 'page/app.ts'), ' ');
    },
    'a file that it imports from another folder changes': () => {
      appendFileSync(join(root, 'shared/text.ts'), ' ');
    },
    'a file is replaced by an older one': () => {
      writeFileSync(join(root, 'cache/older.ts'), 'older');
      utimesSync(join(root, 'cache/older.ts'), 1, 1);
      cpSync(join(root, 'cache/older.ts'), join(root, 'page/app.ts'), { preserveTimestamps: true });
    },
    'a file is added': () => {
      writeFileSync(join(root, 'page/new.ts'), '');
    },
    'a file is deleted': () => {
      rmSync(join(root, 'shared/text.ts'));
    },
    'the configuration that it extends changes': () => {
      appendFileSync(join(root, 'tsconfig.json'), ' ');
    },
  };
  for (const [what, change] of Object.entries(changes)) {
    it(`is changed when ${what}`, () => {
      notePassed([project()], Date.now() + 1);
      // The clock of a file system may stand still for some milliseconds.
      const passedAtMs = Date.now() + 1;
      while (Date.now() <= passedAtMs + 10);
      change();
      assert.ok(!isUnchanged(project(), root));
    });
  }
});
