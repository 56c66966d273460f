import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import type { ReplicaSet } from '../../e2e/ground/mongod/replica-set.ts';
import { startSyncerProcess } from '../../e2e/ground/syncer-process.ts';
import { database } from './data-sets.ts';

/** What a contender copies. */
export interface CopyTask {
  readonly source: ReplicaSet;
  readonly destination: ReplicaSet;
  readonly namespaces: readonly string[];
}

/** A program that copies the database. */
export interface Contender {
  readonly name: string;
  /** Why it cannot take part on this machine. */
  readonly obstacle?: string;
  /**
   * Prepares the copy, and returns an object that carries it out and is disposed of after it; `pids` are those of its
   * processes.
   */
  readonly prepare: (task: CopyTask) => Promise<PreparedCopy>;
}

export interface PreparedCopy extends AsyncDisposable {
  readonly pids: () => readonly (number | undefined)[];
  /** Resolves when all documents and indexes are on the destination. */
  readonly run: () => Promise<void>;
}

/** The contenders that this machine has, and those that it lacks, with the reason. */
export async function findContenders(floor: string): Promise<readonly Contender[]> {
  const tools = await missingPrograms(['mongodump', 'mongorestore']);
  const obstacle = tools.length > 0 ? { obstacle: `${tools.join(' and ')} not on PATH` } : {};
  return [
    { name: 'floor, indexes after', prepare: programOf(floor, 'after') },
    { name: 'clustersync afterDataCopy', prepare: syncer('afterDataCopy') },
    { name: 'floor, indexes before', prepare: programOf(floor, 'before') },
    { name: 'clustersync beforeDataCopy', prepare: syncer('beforeDataCopy') },
    { name: 'dump | restore', ...obstacle, prepare: dumpRestore([], []) },
    {
      name: 'dump | restore, tuned',
      ...obstacle,
      prepare: dumpRestore(['-j', '4'], ['-j', '4', '--numInsertionWorkersPerCollection=4']),
    },
  ];
}

/** The copy of a sync. */
export function syncer(buildIndexes: 'beforeDataCopy' | 'afterDataCopy'): Contender['prepare'] {
  return async ({ source, destination }) => {
    const process = await startSyncerProcess({
      cluster0: source.uri('syncer'),
      cluster1: destination.uri('syncer'),
      options: { logLevel: 'info' },
    });
    return {
      pids: () => [process.pid],
      run: async () => {
        await process.start({ source: 'cluster0', destination: 'cluster1', buildIndexes });
        await process.waitFor(({ canCommit }) => canCommit, { deadlineMs: 1_800_000 });
      },
      [Symbol.asyncDispose]: async () => {
        await process[Symbol.asyncDispose]();
      },
    };
  };
}

function programOf(floor: string, indexes: 'before' | 'after'): Contender['prepare'] {
  return ({ source, destination, namespaces }) => {
    const children: ChildProcess[] = [];
    return Promise.resolve({
      pids: () => children.map(({ pid }) => pid),
      run: async () => {
        const env = {
          FLOOR_SOURCE: source.uri('admin'),
          FLOOR_DESTINATION: destination.uri('admin'),
          FLOOR_NAMESPACES: namespaces.join(','),
        };
        const child = spawn(floor, ['-indexes', indexes], { env, stdio: 'inherit' });
        children.push(child);
        await succeeded(child, 'floor');
      },
      [Symbol.asyncDispose]: endOf(children),
    });
  };
}

function dumpRestore(
  dumpOptions: readonly string[],
  restoreOptions: readonly string[],
): Contender['prepare'] {
  return ({ source, destination }) => {
    const children: ChildProcess[] = [];
    return Promise.resolve({
      pids: () => children.map(({ pid }) => pid),
      run: async () => {
        const dump = spawn(
          'mongodump',
          [
            '--uri',
            source.uri('admin'),
            `--db=${database}`,
            '--archive',
            '--quiet',
            ...dumpOptions,
          ],
          { stdio: ['ignore', 'pipe', 'inherit'] },
        );
        const restore = spawn(
          'mongorestore',
          ['--uri', destination.uri('admin'), '--archive', '--quiet', ...restoreOptions],
          { stdio: [dump.stdout, 'inherit', 'inherit'] },
        );
        children.push(dump, restore);
        await Promise.all([succeeded(dump, 'mongodump'), succeeded(restore, 'mongorestore')]);
      },
      [Symbol.asyncDispose]: endOf(children),
    });
  };
}

async function succeeded(child: ChildProcess, name: string): Promise<void> {
  await once(child, 'exit');
  if (child.exitCode !== 0)
    throw new Error(`${name} ended with ${child.signalCode ?? String(child.exitCode)}`);
}

function endOf(children: readonly ChildProcess[]): () => Promise<void> {
  return () => {
    for (const child of children) child.kill('SIGKILL');
    return Promise.resolve();
  };
}

async function missingPrograms(names: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const name of names) {
    await promisify(execFile)(name, ['--version']).catch(() => missing.push(name));
  }
  return missing;
}
