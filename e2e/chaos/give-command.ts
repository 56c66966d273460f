import assert from 'node:assert/strict';
import { sleep } from '../../service/sleep.ts';
import type { SyncerProcess, SyncerProgress } from '../ground/syncer-process.ts';

const pollMs = 40;

/** The watch also asks. Here a slow answer is requested less often: it is noticed late by at most 5 % of the time that it took. */
const maxPollMs = 250;

/** The state in which each command is taken. */
const takenIn = { pause: 'RUNNING', resume: 'PAUSED', commit: 'RUNNING' } as const;

/**
 * Gives a command, once it is possible, again and again until it was taken. What was acknowledged must hold, whatever happens
 * to the process.
 * @param disturbance - changes whenever the process is stopped, killed or started, and is odd while it is disturbed.
 */
export async function giveCommand(
  syncer: SyncerProcess,
  command: keyof typeof takenIn,
  disturbance: () => number,
  signal: AbortSignal,
): Promise<void> {
  const from = takenIn[command];
  const isDecided = ({ state, canCommit }: SyncerProgress): boolean =>
    state !== 'IDLE' && (command !== 'commit' || state !== from || canCommit);
  for (let isTaken = false; !isTaken;) {
    await reachProgress(syncer, isDecided, signal);
    const before = disturbance();
    const answer = await syncer.post(command, {}).catch(() => undefined);
    if (answer?.status === 200) {
      const { state } = await reachProgress(syncer, () => true, signal);
      assert.notEqual(state, from, `${command} was acknowledged`);
      return;
    }
    // An earlier one whose answer was lost.
    isTaken = answer?.body['error'] === 'InvalidStateTransition';
    const isDisturbed = before % 2 === 1 || disturbance() !== before;
    if (isTaken || isDisturbed) continue;
    // A commit needs answers of both sides that are a few seconds old at most: a fault before it was sent may have cost them.
    const passing =
      command === 'commit' ? ['ClusterUnreachable', 'CannotCommitYet'] : ['ClusterUnreachable'];
    assert.ok(passing.includes(String(answer?.body['error'])), JSON.stringify(answer));
  }
}

/** Waits for a progress. While the syncer does not answer, or has not read its state, it is asked again. */
export async function reachProgress(
  syncer: SyncerProcess,
  isReached: (progress: SyncerProgress) => boolean,
  signal: AbortSignal,
): Promise<SyncerProgress> {
  const startedAtMs = performance.now();
  for (;;) {
    const answer = await syncer.getProgress().catch(() => undefined);
    if (answer?.status === 200) {
      const progress = answer.body['progress'] as SyncerProgress;
      if (isReached(progress)) return progress;
    }
    if (signal.aborted) throw new Error(`not reached in time: ${JSON.stringify(answer?.body)}`);
    const waitedMs = performance.now() - startedAtMs;
    const pauseMs = Math.min(maxPollMs, Math.max(pollMs, waitedMs / 20));
    await sleep(pauseMs, signal).catch(() => undefined);
  }
}
