import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { documentedCommands } from '../../ground/documented-shell.ts';
import { createGuardedFolder, type GuardedFolder } from '../../ground/guarded-folder.ts';
import { hasEnded } from '../../ground/has-ended.ts';
import { typeCommit } from '../../ground/type-commit.ts';
import { useClusterPair } from '../syncer/cluster-pair.ts';

const checkout = new URL('../../../', import.meta.url);
const terminalHelper = fileURLToPath(new URL('e2e/ground/terminal.py', checkout));

/** What the programs are built from: what the image is, and no more. */
async function sources(): Promise<string[]> {
  const lines = (await readFile(new URL('.dockerignore', checkout), 'utf8')).split('\n');
  return lines.flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
}

const deadlineMs = 400_000;

describe('the README without Kubernetes, each command exactly as written, in a fresh checkout', function () {
  this.timeout(900_000);
  const pair = useClusterPair();
  let folder: GuardedFolder;

  before(async () => {
    folder = await createGuardedFolder();
    for (const name of await sources()) {
      const path = fileURLToPath(new URL(name, checkout));
      await cp(path, join(folder.path, name), { recursive: true });
    }
    // Node.js 24 is what the README asks for.
    await mkdir(join(folder.path, 'node'));
    await symlink(process.execPath, join(folder.path, 'node', 'node'));
    await writeFile(join(folder.path, 'old.txt'), pair.source.set.uri('syncer'));
    await writeFile(join(folder.path, 'new.txt'), pair.destination.set.uri('syncer'));
    const orders = Array.from({ length: 500 }, (_, n) => ({ n, text: 'x'.repeat(1000) }));
    await pair.source.client.db('shop').collection('orders').insertMany(orders);
  });

  after(async () => {
    await folder.remove();
  });

  /** Runs a command in a terminal, commits when it asks for that, if it does, and returns what is to be seen. */
  async function inTerminal(
    command: string,
    { asksForCommit = false }: { readonly asksForCommit?: boolean } = {},
  ): Promise<string> {
    const name = command.replaceAll(/\W+/g, '-');
    const script = `cd '${folder.path}' && ${command}`;
    const child = folder.spawn('python3', [terminalHelper, 'bash', '-c', script], name, {
      input: 'pipe',
      env: {
        PATH: `${join(folder.path, 'node')}:${process.env['PATH'] ?? ''}`,
        LANG: 'C.UTF-8',
        TERM: 'xterm',
      },
    });
    const ended = once(child, 'exit', { signal: AbortSignal.timeout(deadlineMs) });
    const terminal = {
      output: async () => await readFile(join(folder.path, name), 'utf8').catch(() => ''),
      get hasEnded() {
        return hasEnded(child);
      },
      type: (keys: string) => child.stdin?.write(keys),
    };
    if (asksForCommit) await typeCommit(terminal, deadlineMs);
    await ended;
    const shown = await terminal.output();
    assert.equal(child.exitCode, 0, shown);
    return shown;
  }

  it('builds the programs, says what would be done, and does it', async () => {
    const readme = await readFile(new URL('README.md', checkout), 'utf8');
    const [build, dryRun, run, ...more] = documentedCommands(readme, 'Without Kubernetes');
    assert.ok(build && dryRun && run);
    assert.deepEqual(more, []);
    await inTerminal(build.command);
    const tried = await inTerminal(dryRun.command);
    assert.match(tried, /500 documents/);
    const shown = await inTerminal(run.command, { asksForCommit: true });
    assert.match(shown, /Committed and verified: both sides are equal\./);
    await pair.assertEqual();
  });
});
