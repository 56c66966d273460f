import assert from 'node:assert/strict';
import { sleep } from '../../service/sleep.ts';
import type { SyncerProcess, SyncerProgress } from '../ground/syncer-process.ts';

/** None goes back to one of a lower number. */
const states: Readonly<Record<string, number>> = {
  IDLE: 0,
  RUNNING: 1,
  PAUSED: 1,
  COMMITTING: 2,
  COMMITTED: 3,
};
const infos = [
  'collection copy',
  'change event application',
  'waiting for commit to complete',
  'commit completed',
];

/** What a process that has not read its stored state yet may answer. */
const bootErrors = /^(NotStarted|ClusterUnreachable|AuthenticationFailed)\b/;

/**
 * An answer later than this is none; only a syncer that is itself disturbed may be silent. It may take some seconds on a
 * machine that is busy with other things.
 */
const answerDeadlineMs = 10_000;

const pollMs = 40;

/**
 * Asks a syncer for its progress again and again until the signal is aborted, and rejects when it says something false:
 * a state or a phase that was passed comes back; it can be committed though it is not applying change events; users may
 * write before the commit or may not any more; the lag is negative; an error that calls for a person.
 * @param disturbance - changes whenever the process is stopped, killed or started.
 */
export async function watchProgress(
  syncer: SyncerProcess,
  disturbance: () => number,
  signal: AbortSignal,
): Promise<void> {
  const watch = new ProgressWatch();
  while (!signal.aborted) {
    const before = disturbance();
    const startedAtMs = performance.now();
    const answer = await syncer.getProgress().catch(() => undefined);
    const isDisturbed = before % 2 === 1 || disturbance() !== before;
    if (!isDisturbed) {
      assert.ok(answer, 'the syncer runs, and does not answer');
      const ms = performance.now() - startedAtMs;
      assert.ok(ms < answerDeadlineMs, `progress took ${ms} ms`);
    }
    if (answer?.status === 200) watch.see(answer.body['progress'] as SyncerProgress);
    else if (answer) assert.match(String(answer.body['error']), bootErrors);
    await sleep(pollMs, signal).catch(() => undefined);
  }
}

/** What was seen of a sync. */
class ProgressWatch {
  #last: SyncerProgress | undefined;

  see(progress: SyncerProgress): void {
    const { state, info, canCommit, canWrite, lagTimeSeconds } = progress;
    const last = this.#last;
    this.#last = progress;
    const check = (isTrue: boolean, rule: string): void => {
      assert.ok(isTrue, `${rule}: ${JSON.stringify(last)}, then ${JSON.stringify(progress)}`);
    };
    check(Object.hasOwn(states, state), 'the state has a name');
    if (state !== 'IDLE') {
      check(infos.includes(info ?? ''), 'info is one of four texts');
      check(
        lagTimeSeconds === null
          ? state === 'PAUSED' || info === 'collection copy'
          : state !== 'PAUSED' && Number.isInteger(lagTimeSeconds) && lagTimeSeconds >= 0,
        'the lag is not less than 0, and is told of from the copy on, but not while nothing is applied',
      );
    }
    check(
      !canCommit || (state === 'RUNNING' && info === 'change event application'),
      'a sync that can be committed applies change events',
    );
    check(
      canWrite !== true || state === 'COMMITTING' || state === 'COMMITTED',
      'users may write from the commit on',
    );
    check(state !== 'COMMITTED' || canWrite === true, 'users may write after the commit');
    if (last === undefined) return;
    check(Number(states[state]) >= Number(states[last.state]), 'the state goes forward');
    check(infos.indexOf(info ?? '') >= infos.indexOf(last.info ?? ''), 'the phases go forward');
    check(canWrite === true || last.canWrite !== true, 'users may still write');
  }
}
