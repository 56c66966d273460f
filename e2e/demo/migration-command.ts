import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Snapshot } from '../../dashboard/api/messages.ts';
import { sleep } from '../../service/sleep.ts';
import { freePort } from '../ground/free-port.ts';
import { createGuardedFolder } from '../ground/guarded-folder.ts';
import { hasEnded } from '../ground/has-ended.ts';

const program = fileURLToPath(new URL('../../bin/clustersync.ts', import.meta.url));
const pollMs = 200;

/** How long the command may take to pause: then it is told again, which ends it at once. */
const pauseMs = 10_000;

/** A migration with `clustersync run`. */
export interface MigrationSettings {
  readonly sourceUri: string;
  readonly destinationUri: string;
  /** Whether a person at this terminal commits. Otherwise the command commits as soon as it can. */
  readonly isInteractive: boolean;
  /** Where the logs of syncer and verifier go. */
  readonly logFile: string;
  /** Receives the command as a person would type it, before it starts. */
  readonly onStart: (command: string) => void;
  /** Called once the command advises a commit, within a second or so: in a terminal it then asks. */
  readonly onReady: () => void;
  readonly signal: AbortSignal;
}

/** How `clustersync run` has ended. */
export interface MigrationEnd {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  /** What it wrote to standard output. */
  readonly summary: string;
}

/** Runs the command to its end, with its display on this process's standard error. @throws the signal's reason when it is aborted. */
export async function migrate(settings: MigrationSettings): Promise<MigrationEnd> {
  const { isInteractive, signal } = settings;
  await using folder = await createGuardedFolder();
  const port = await freePort();
  const inFolder = (name: string): string => join(folder.path, name);
  const mode = 0o600;
  await writeFile(inFolder('old.txt'), settings.sourceUri, { mode });
  await writeFile(inFolder('new.txt'), settings.destinationUri, { mode });
  const args = [
    ...['run', '--source-file', inFolder('old.txt'), '--destination-file', inFolder('new.txt')],
    ...['--enable-user-write-blocking', '--web', String(port)],
    ...(isInteractive ? [] : ['--commit-when-caught-up']),
  ];
  settings.onStart(`clustersync ${args.join(' ').replaceAll(`${folder.path}/`, '')}`);
  signal.throwIfAborted();
  // The page is compiled when it is served, and Node.js would warn of that in the middle of the display.
  const all = ['--disable-warning=ExperimentalWarning', program, ...args];
  const logging = ['--log-file', settings.logFile];
  const child = folder.spawn(process.execPath, [...all, ...logging], 'summary', {
    errorFile: 2,
    ...(isInteractive && { input: 'inherit' }),
  });
  const over = new AbortController();
  const ready = untilReady(port, over.signal).then(settings.onReady, () => undefined);
  try {
    await untilEnded(child, isInteractive, signal);
  } finally {
    over.abort();
    await ready;
  }
  signal.throwIfAborted();
  return { exitCode: child.exitCode, summary: await readFile(inFolder('summary'), 'utf8') };
}

/** Waits for the end of the command; ends it when the signal is aborted, and waits until it has ended what it started. */
async function untilEnded(
  child: ChildProcess,
  isInteractive: boolean,
  signal: AbortSignal,
): Promise<void> {
  let repetition: NodeJS.Timeout | undefined;
  const end = (): void => {
    const kill = (): boolean => child.kill('SIGTERM');
    // A terminal has told both of Ctrl-C: a second signal would not let it end what it started.
    if (!isInteractive) kill();
    repetition = setTimeout(kill, pauseMs);
  };
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    if (!hasEnded(child)) await once(child, 'exit');
  } finally {
    signal.removeEventListener('abort', end);
    clearTimeout(repetition);
  }
}

/** Waits until the command's page says that a commit is advisable. */
async function untilReady(port: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    const syncs = await syncsOf(port, signal).catch(() => []);
    if (syncs.some(({ commitReadiness }) => commitReadiness.isReady)) return;
    await sleep(pollMs, signal);
  }
}

/** Rejects while the command does not serve its page yet. */
async function syncsOf(port: number, signal: AbortSignal): Promise<Snapshot['syncs']> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/syncs`, { signal });
  const { syncs } = (await answer.json()) as Snapshot;
  return syncs;
}
