import assert from 'node:assert/strict';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CliProcess } from '../../ground/cli-process.ts';
import { createGuardedFolder, type GuardedFolder } from '../../ground/guarded-folder.ts';
import { until } from '../../ground/until.ts';

const executable = fileURLToPath(new URL('../../../bin/clustersync.ts', import.meta.url));

/** A ClusterSync as the API server returns it. */
function syncOf(spec: object): object {
  return { metadata: { name: 'shop', namespace: 'migration', generation: 2 }, spec };
}

const requested = syncOf({ state: 'Committed' });
const notRequested = syncOf({ state: 'Running' });
const unreachable = 'Unable to connect to the server: unexpected EOF';

/**
 * A kubectl whose answers are given: a real API server cannot be made to store a request and lose its answer.
 *
 * Each call takes the next line of the file `answers`: what `get` prints as JSON, or, after `!`, what it fails with; `hang` never ends. Each
 * is noted in the file `calls`.
 */
const script = `#!/bin/sh
cd "$(dirname "$0")"
echo "$*" >> calls
answer="$(head -n 1 answers)"
[ "$(wc -l < answers)" -le 1 ] || sed -i 1d answers
case "$answer" in
  hang) exec sleep 600 ;;
  '!'*) echo "\${answer#!}" >&2; exit 1 ;;
  *) echo "$answer" ;;
esac
`;

describe('kubectl clustersync, of an API server whose answers are lost', () => {
  let folder: GuardedFolder;

  before(async () => {
    folder = await createGuardedFolder();
    await writeFile(join(folder.path, 'kubectl'), script, { mode: 0o755 });
    await symlink(executable, join(folder.path, 'kubectl-clustersync.ts'));
  });

  after(async () => {
    await folder.remove();
  });

  async function say(
    args: readonly string[],
    answers: readonly (object | string)[],
  ): Promise<CliProcess> {
    const lines = answers.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
    await writeFile(join(folder.path, 'answers'), `${lines.join('\n')}\n`);
    await writeFile(join(folder.path, 'calls'), '');
    const PATH = `${folder.path}:${process.env['PATH'] ?? ''}`;
    const program = join(folder.path, 'kubectl-clustersync.ts');
    return await CliProcess.start(args, { program, env: { PATH } });
  }

  async function calls(): Promise<string[]> {
    return (await readFile(join(folder.path, 'calls'), 'utf8')).trim().split('\n');
  }

  const may = /the commit may have been requested/;
  const still = /the commit is still requested/;
  const refused = 'Error from server (Forbidden): you may not patch';
  const lost: readonly (readonly [string, readonly (object | string)[], RegExp | undefined])[] = [
    ['has stored it', [notRequested, `!${unreachable}`, requested], still],
    ['may store it later', [notRequested, `!${unreachable}`, notRequested], may],
    ['cannot be asked', [notRequested, `!${unreachable}`], may],
    ['has refused it', [notRequested, `!${refused}`, notRequested], undefined],
    ['has refused it, and had one already', [requested, `!${refused}`, requested], still],
  ];
  for (const [what, answers, expected] of lost) {
    it(`commit says, where its request has failed, whether the API server ${what}`, async () => {
      await using cli = await say(['commit', 'shop', '--wait'], answers);
      assert.equal((await cli.end()).exitCode, 2);
      const said = await cli.errors();
      assert.match(said, /unexpected EOF|\(Forbidden\)/);
      if (expected) assert.match(said, expected);
      else assert.doesNotMatch(said, /requested/);
      assert.equal((await calls()).length, 3);
    });
  }

  it('commit says, where it is stopped during its request, that it may have been taken', async () => {
    await using cli = await say(['commit', 'shop'], [notRequested, 'hang']);
    await cli.untilSays(/ReadyToCommit/);
    // Its own words come before the request does.
    await untilCalled(2);
    await cli.kill('SIGINT');
    assert.equal((await cli.end()).exitCode, 130);
    assert.match(await cli.errors(), may);
  });

  it('commit --wait says that the commit is still requested where the API server refuses to tell, and what may be of one that is gone', async () => {
    for (const [reason, expected] of [
      ['Forbidden', still],
      ['NotFound', /its syncers may have accepted it/],
    ] as const) {
      const refusal = `!Error from server (${reason}): clustersyncs "shop"`;
      await using cli = await say(['commit', 'shop', '--wait'], [notRequested, requested, refusal]);
      assert.equal((await cli.end()).exitCode, 2);
      const said = await cli.errors();
      assert.ok(said.includes(`(${reason})`), said);
      assert.match(said, expected);
    }
  });

  it('reverse asks for the other direction, and not for its commit', async () => {
    for (const [direction, other] of [
      [undefined, 'Reverse'],
      ['Forward', 'Reverse'],
      ['Reverse', 'Forward'],
    ] as const) {
      const sync = syncOf({ state: 'Committed', ...(direction && { direction }) });
      await using cli = await say(['reverse', 'shop'], [sync]);
      assert.equal((await cli.end()).exitCode, 0, await cli.errors());
      const [, patch] = await calls();
      assert.match(patch ?? '', /^patch clustersyncs\.clustersync\.dev\/shop /);
      const spec = { direction: other, state: 'Running' };
      assert.ok(patch?.includes(`--patch=${JSON.stringify({ spec })}`), patch);
    }
  });

  async function untilCalled(times: number): Promise<void> {
    await until('kubectl is called', async () => (await calls()).length >= times);
  }
});
