import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configMaps, secrets, type StatefulSet } from '../../../operator/kube/builtin-resources.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { createGuardedFolder, type GuardedFolder } from '../../ground/guarded-folder.ts';
import { hasEnded } from '../../ground/has-ended.ts';

const program = fileURLToPath(new URL('../../../bin/clustersync.ts', import.meta.url));
/** Has another file of hosts than the machine, in a mount namespace of its own. */
const ownHosts = 'mount --bind "$1" /etc/hosts && shift && exec "$@"';
const signal = new AbortController().signal;

/** The program that a pod of a StatefulSet would run, with its command line and the files that are mounted there. */
export class PodProcess implements AsyncDisposable {
  readonly #folder: GuardedFolder;
  readonly #child: ChildProcess;

  private constructor(folder: GuardedFolder, child: ChildProcess) {
    this.#folder = folder;
    this.#child = child;
  }

  /**
   * @param address - that it listens on.
   * @param names - what the names mean to it that it looks up, by the address: as pods of another namespace they mean something else to.
   * @param index - of the pod in its StatefulSet.
   */
  static async start(
    client: KubeClient,
    { metadata: { namespace }, spec }: StatefulSet,
    address: string,
    names: Readonly<Record<string, string>> = {},
    index = 0,
  ): Promise<PodProcess> {
    const folder = await createGuardedFolder();
    try {
      const pod = spec?.template.spec;
      const [container] = pod?.containers ?? [];
      for (const { name, mountPath } of container?.volumeMounts ?? []) {
        const volume = pod?.volumes?.find((each) => each.name === name);
        if (!volume) continue;
        await mkdir(join(folder.path, mountPath), { recursive: true });
        for (const [path, content] of await filesOf(client, namespace, volume))
          await writeFile(join(folder.path, mountPath, path), content, { mode: 0o600 });
      }
      const args = (container?.args ?? []).map((arg) =>
        arg
          .replace('=/etc/clustersync/', `=${folder.path}/etc/clustersync/`)
          .replace('--host=::', `--host=${address}`),
      );
      const variable = container?.env?.find(({ valueFrom }) => valueFrom?.fieldRef !== undefined);
      const plain = (container?.env ?? []).flatMap(({ name, value }) =>
        value === undefined ? [] : [[name, value] as const],
      );
      const env = {
        ...Object.fromEntries(plain),
        ...(variable && { [variable.name]: String(index) }),
      };
      if (Object.keys(names).length === 0)
        return new PodProcess(
          folder,
          folder.spawn(process.execPath, [program, ...args], 'log', { env }),
        );
      const lines = Object.entries(names).map(([name, meant]) => `${meant} ${name}\n`);
      const hosts = join(folder.path, 'hosts');
      await writeFile(hosts, `127.0.0.1 localhost\n${lines.join('')}`);
      const own = ['--mount', 'sh', '-c', ownHosts, 'sh', hosts];
      return new PodProcess(
        folder,
        folder.spawn('unshare', [...own, process.execPath, program, ...args], 'log', { env }),
      );
    } catch (error) {
      await folder.remove();
      throw error;
    }
  }

  /** Runs another command of the program where the same files are. */
  async run(args: readonly string[]): Promise<{ output: string; exitCode: number | null }> {
    const child = this.#folder.spawn(process.execPath, [program, ...args], 'output');
    await once(child, 'exit');
    const output = await readFile(join(this.#folder.path, 'output'), 'utf8');
    return { output, exitCode: child.exitCode };
  }

  /** Where a file of the pod is. */
  path(file: string): string {
    return join(this.#folder.path, file);
  }

  /** Ends it as Kubernetes does. */
  async end(): Promise<void> {
    if (hasEnded(this.#child)) return;
    const end = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await end;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder.remove();
  }
}

type Volume = Pick<
  NonNullable<NonNullable<NonNullable<StatefulSet['spec']>['template']['spec']>['volumes']>[number],
  'secret' | 'configMap'
>;

/** The files of a volume, by their names. */
async function filesOf(
  client: KubeClient,
  namespace: string | undefined,
  { secret, configMap }: Volume,
): Promise<(readonly [string, Buffer])[]> {
  if (secret) {
    const ref = { namespace, name: secret.secretName ?? '' };
    const { data } = await client.get(secrets, ref, { signal });
    return (secret.items ?? []).map(({ key, path }) => [
      path,
      Buffer.from(data?.[key] ?? '', 'base64'),
    ]);
  }
  if (!configMap) return [];
  const ref = { namespace, name: configMap.name ?? '' };
  const { data, binaryData } = await client.get(configMaps, ref, { signal });
  return (configMap.items ?? []).map(({ key, path }) => [
    path,
    data?.[key] === undefined
      ? Buffer.from(binaryData?.[key] ?? '', 'base64')
      : Buffer.from(data[key]),
  ]);
}
