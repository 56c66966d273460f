import assert from 'node:assert/strict';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ownerAnnotation } from '../../operator/operand/names.ts';
import { CommandError, run } from '../ground/command.ts';
import { createGuardedFolder, type GuardedFolder } from '../ground/guarded-folder.ts';

const executable = fileURLToPath(new URL('../../bin/clustersync.ts', import.meta.url));

/** Names that no API server gives an object, unless somebody plays one. */
const hostileName = '--cache-dir=/tmp/of-somebody-else';

/** Prints the answers of such an API server, as kubectl does, and writes down its arguments: one in each line, then an empty one. */
const playedKubectl = `#!/bin/sh
printf '%s\\n' "$@" '' >>"$ARGUMENTS"
case "$1 $2" in
  'get clustersyncs.clustersync.dev'*) cat "$ANSWERS/sync" ;;
  'get syncverifications.clustersync.dev'*) cat "$ANSWERS/verifications" ;;
  'get pods') cat "$ANSWERS/pods" ;;
esac
`;

describe('kubectl clustersync, whose cluster answers whatever it likes,', () => {
  let folder: GuardedFolder;

  before(async () => {
    folder = await createGuardedFolder();
    for (const name of ['kubectl-clustersync', 'kubectl_complete-clustersync'])
      await symlink(executable, join(folder.path, name));
    await writeFile(join(folder.path, 'kubectl'), playedKubectl, { mode: 0o755 });
  });

  beforeEach(async () => {
    const metadata = { namespace: 'migration', name: 'shop' };
    const named = { ...metadata, name: hostileName };
    await answer({
      sync: { metadata },
      verifications: { items: [{ metadata: named, spec: { clusterSyncRef: { name: 'shop' } } }] },
      pods: {
        items: [{ metadata: { ...named, annotations: { [ownerAnnotation]: 'ClusterSync/shop' } } }],
      },
    });
    await writeFile(join(folder.path, 'arguments'), '');
  });

  after(async () => {
    await folder.remove();
  });

  async function answer(answers: Readonly<Record<string, unknown>>): Promise<void> {
    for (const [name, value] of Object.entries(answers)) {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      await writeFile(join(folder.path, name), text);
    }
  }

  async function plugin(args: readonly string[], program = 'kubectl-clustersync'): Promise<string> {
    const env = {
      PATH: `${folder.path}:${process.env['PATH'] ?? ''}`,
      ARGUMENTS: join(folder.path, 'arguments'),
      ANSWERS: folder.path,
    };
    return await run(process.execPath, [join(folder.path, program), ...args], { env });
  }

  /** What standard error says of a failure. */
  async function failureOf(args: readonly string[]): Promise<string> {
    const error: unknown = await plugin(args).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof CommandError, String(error));
    assert.equal(error.exitCode, 2);
    return error.standardError;
  }

  for (const command of ['diagnose', 'logs'])
    it(`gives kubectl no flag that is the name of an object: ${command}`, async () => {
      await plugin([command, 'shop']);
      const given = (await readFile(join(folder.path, 'arguments'), 'utf8')).split('\n');
      assert.ok(
        given.some((argument) => argument.includes(hostileName)),
        given.join(' '),
      );
      assert.ok(!given.includes(hostileName), given.join(' '));
    });

  for (const [what, text] of [
    ['no JSON', 'Welcome to this cluster!'],
    ['nothing', ''],
    ['JSON that is nested too deeply', '['.repeat(100_000)],
  ] as const)
    it(`says whose fault it is, and not where in the source, where kubectl prints ${what}`, async () => {
      for (const args of [['list'], ['status', 'shop'], ['logs', 'shop']]) {
        await answer({ sync: text });
        const said = await failureOf(args);
        assert.match(
          said,
          /^clustersync: kubectl did not print JSON \(KubectlFailed\)\nCheck what kubectl reports/,
        );
        assert.doesNotMatch(said, /\n {4}at /);
      }
    });

  it('offers no name that a shell would read as more than a name', async () => {
    const names = ['$(touch x)', '`touch x`', 'a b', '-x', 'shop', 'shop.a-1', 'UPPER', 'a\tb'];
    await answer({ sync: names.map((name) => `clustersync.clustersync.dev/${name}`).join('\n') });
    const offered = await plugin(['status', ''], 'kubectl_complete-clustersync');
    assert.deepEqual(
      offered.split('\n').filter((word) => !word.startsWith('--') && word !== '-n'),
      ['shop', 'shop.a-1', ':4', ''],
    );
  });

  it('lists the others where one object has a name of 1 MB', async () => {
    const long = 'x'.repeat(1024 * 1024);
    const items = [long, ...Array.from({ length: 1_000 }, (_, index) => `sync-${index}`)].map(
      (name) => ({ metadata: { namespace: 'migration', name } }),
    );
    await answer({ sync: { items }, verifications: { items: [] } });
    const lines = (await plugin(['list'])).trimEnd().split('\n');
    assert.equal(lines.length, items.length + 1);
    for (const line of lines) assert.ok(line.length < 1_000, `a line of ${line.length}`);
    assert.match(lines.at(-1) ?? '', /^sync-999 +Pending/);
  });
});
