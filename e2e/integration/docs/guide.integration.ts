import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  documentedCommands,
  isAsDocumented,
  type DocumentedCommand,
} from '../../ground/documented-shell.ts';
import { createGuardedFolder, type GuardedFolder } from '../../ground/guarded-folder.ts';
import { syncerRoles } from '../../ground/mongod/users.ts';
import { until } from '../../ground/until.ts';
import { useClusterPair } from '../syncer/cluster-pair.ts';
import { defaultDeadlineMs } from '../../ground/default-deadline.ts';
import { freePort } from '../../ground/free-port.ts';

const program = fileURLToPath(new URL('../../../bin/clustersync.ts', import.meta.url));
const guide = new URL('../../../docs/guide.md', import.meta.url);

/**
 * What a built checkout has: `npx clustersync`, here the sources themselves, whose build other tests run. Its name tells the guard of
 * the folder whose it is.
 */
const npx = `#!/bin/bash
shift
exec -a "$PWD/clustersync" '${process.execPath}' '${program}' "$@"
`;
const npm = `#!/bin/sh
echo "npm $*" >>npm-calls
`;

describe('the guide without Kubernetes, each command exactly as written', () => {
  // The roles that the guide asks for where writes are not blocked, and no others.
  const pair = useClusterPair({ roles: { source: 'source', destination: 'destination' } });
  let folder: GuardedFolder;

  before(async () => {
    folder = await createGuardedFolder();
    await put('old.txt', pair.source.set.uri('syncer'));
    await put('new.txt', pair.destination.set.uri('syncer'));
    for (const [name, text] of Object.entries({ npx, npm }))
      await chmod(await put(name, text), 0o755);
    const orders = Array.from({ length: 500 }, (_, n) => ({ n, text: 'x'.repeat(1000) }));
    await pair.source.client.db('shop').collection('orders').insertMany(orders);
  });

  after(async () => {
    await folder.remove();
  });

  async function put(name: string, text: string): Promise<string> {
    const path = join(folder.path, name);
    await writeFile(path, text);
    return path;
  }

  /** Other programs of this machine may listen on the documented ports. */
  async function onFreePorts(commands: readonly DocumentedCommand[]): Promise<DocumentedCommand[]> {
    const [syncer, verifier] = [await freePort(), await freePort()];
    return commands.map((each) => ({
      ...each,
      command: each.command
        .replace('localhost:27182', `127.0.0.1:${syncer}`)
        .replace('localhost:27020', `127.0.0.1:${verifier}`)
        .replace(/^npx clustersync syncer /, `$&--port ${syncer} `)
        .replace(/^npx clustersync verifier (?=--verifyAll)/, `$&--port ${verifier} `),
    }));
  }

  const env = () => ({ ...process.env, PATH: `${folder.path}:${process.env['PATH'] ?? ''}` });

  async function written(command: string): Promise<string> {
    const script = `cd '${folder.path}' && ${command}`;
    const options = { env: env(), timeout: defaultDeadlineMs };
    return (await promisify(execFile)('bash', ['-c', script], options)).stdout;
  }

  async function startInBackground({ command }: DocumentedCommand): Promise<void> {
    const script = `cd '${folder.path}' && exec ${command}`;
    folder.spawn('bash', ['-c', script], 'background', { env: { PATH: env().PATH } });
    const port = /--port (\d+)/.exec(command)?.[1];
    await until(
      `${command} is ready`,
      async () =>
        await fetch(`http://127.0.0.1:${port}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
    );
  }

  async function carryOut(documented: DocumentedCommand): Promise<void> {
    if (documented.isBackground) {
      await startInBackground(documented);
      return;
    }
    let last = '';
    await until(`${documented.command} answers ${documented.until}`, async () => {
      last = await written(documented.command);
      return last.includes(documented.until ?? '');
    });
    if (documented.output !== undefined) {
      const message = `${documented.command} has written:\n${last}\nand not:\n${documented.output}`;
      assert.ok(isAsDocumented(last, documented.output), message);
    }
  }

  it('leads from an empty destination to a committed sync and a verdict, with the output that is shown', async () => {
    const text = await readFile(guide, 'utf8');
    const commands = documentedCommands(text, 'Without Kubernetes');
    assert.equal(commands.filter(({ isBackground }) => isBackground).length, 2);
    for (const command of await onFreePorts(commands)) await carryOut(command);
    assert.equal(await readFile(join(folder.path, 'npm-calls'), 'utf8'), 'npm ci\nnpm run build\n');
    await pair.assertEqual();
  });

  it('names the roles that the users of these tests have', async () => {
    const text = await readFile(guide, 'utf8');
    const rolesOf = (cell = ''): string[] =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, role = '']) => role).toSorted();
    const named = (['source', 'destination'] as const).map((side) => {
      const [, plain, blocking] = (new RegExp(`^\\| ${side} .*$`, 'm').exec(text)?.[0] ?? '')
        .split('|')
        .slice(1);
      return [rolesOf(plain), blocking?.trim() === 'the same' ? 'the same' : rolesOf(blocking)];
    });
    const { source, sourceWithWriteBlocking, destination } = syncerRoles;
    assert.deepEqual(named, [
      [source.toSorted(), sourceWithWriteBlocking.toSorted()],
      [destination.toSorted(), 'the same'],
    ]);
    // The command below the table.
    const [, created = ''] = /^ +roles: \[(.*)\],$/m.exec(text) ?? [];
    assert.deepEqual(
      created.split(', ').map((role) => role.replaceAll("'", '')),
      destination,
    );
  });

  it('would notice another output', () => {
    assert.ok(isAsDocumented('{"a":1,"b":[2]}\n', '{"a":1,...}'));
    assert.ok(!isAsDocumented('{"a":2,"b":[2]}\n', '{"a":1,...}'));
    assert.ok(!isAsDocumented('{"a":1}\nmore\n', '{"a":1}'));
    assert.throws(() => documentedCommands('# One\n\nText.\n', 'One'), /no commands below One/);
  });
});
