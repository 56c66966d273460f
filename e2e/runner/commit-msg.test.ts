import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const hook = fileURLToPath(new URL('../../.githooks/commit-msg', import.meta.url));
const checkout = fileURLToPath(new URL('../../', import.meta.url));

describe('the hook commit-msg', () => {
  let folder = '';

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clustersync-commit-msg-'));
  });

  after(async () => {
    await rm(folder, { recursive: true });
  });

  async function complaintAbout(message: string): Promise<string> {
    const path = join(folder, 'message');
    await writeFile(path, message);
    const { status, stderr } = spawnSync(hook, [path], { cwd: checkout, encoding: 'utf8' });
    assert.equal(status === 0, stderr === '', stderr);
    return stderr;
  }

  const longest = `syncer/copy: ${'é'.repeat(59)}`;

  for (const message of [
    'syncer/copy: read ranges in step\n\nBecause.\n',
    'operator, charts: say who may do what',
    'e2e/operator: wait for the answer: it comes late',
    'CONTRIBUTING: name the hook',
    'package.json: pin mocha',
    longest,
    `# a comment\n\n${longest}   \n\n${'x'.repeat(100)}\n`,
    "Merge branch 'one' into another one whose name is as long as nobody would want it to be",
    'fixup! syncer/copy: read ranges in step',
    '# nothing but comments\n',
  ]) {
    it(`takes ${JSON.stringify(message)}`, async () => {
      assert.equal(await complaintAbout(message), '');
    });
  }

  for (const [message, complaint] of [
    ['Read ranges in step\n', /begins with the folder/],
    ['syncer:read ranges in step', /begins with the folder/],
    [`${longest}x`, /at most 72 characters, and this has 73\n/],
    [
      'cellar: read ranges in step',
      /no folder or file of this checkout begins like that: cellar\n/,
    ],
    ['syncer, cellar/copy: read ranges', /begins like that: syncer, cellar\/copy\n/],
    ['fix(syncer): read ranges in step', /begins like that: fix\(syncer\)\n/],
  ] as const) {
    it(`refuses ${JSON.stringify(message)}`, async () => {
      assert.match(await complaintAbout(message), complaint);
    });
  }
});
