import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const executable = fileURLToPath(new URL('clustersync.ts', import.meta.url));

/** The commands fail before they ask for it. */
const uri = 'mongodb://user:secret@127.0.0.1:1/';

/** What a command that fails has written. */
async function saidBy(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const options = { env: { ...process.env, ...env } };
  const failure: unknown = await promisify(execFile)(
    process.execPath,
    [executable, ...args],
    options,
  ).then(
    () => undefined,
    (error: unknown) => error,
  );
  const { stdout, stderr } = failure as { readonly stdout: string; readonly stderr: string };
  return stdout + stderr;
}

describe('the command line', function () {
  this.timeout(60_000);

  const commands: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    [
      'a program',
      ['syncer', '--cluster0', uri, '--cluster1', uri, '--host', 'host.invalid'],
      ['--cluster0File'],
    ],
    [
      'a command of a program',
      ['verifier', 'report', '--metaURI', uri, '--format', 'none'],
      ['--metaURIFile', 'CLUSTERSYNC_META_URI'],
    ],
    ['a command for people', ['run', '--source', uri], ['--source-file']],
  ];
  for (const [what, args, ways] of commands) {
    it(`warns of a connection string in the arguments of ${what}, and does not repeat it`, async () => {
      const said = await saidBy(args);
      for (const way of ways) assert.ok(said.includes(way), said);
      assert.ok(!said.includes('secret'), said);
    });
  }

  it('does not warn of one in the environment', async () => {
    const said = await saidBy(['verifier', 'report', '--format', 'none'], {
      CLUSTERSYNC_META_URI: uri,
    });
    assert.match(said, /--format/);
    assert.doesNotMatch(said, /others on this machine/);
  });

  it('shows nothing of an error that directs the terminal', async () => {
    const said = await saidBy([
      'verifier',
      'report',
      '--format',
      '\u001b[2J\u009b31m',
      '--metaURI',
      uri,
    ]);
    assert.match(said, /format/);
    assert.match(said, /^[\n\u0020-\u007e\u00a0-\uffff]*$/);
  });
});
