import assert from 'node:assert/strict';
import { sleep } from '../../../service/sleep.ts';
import type { SyncerProcess, SyncerProgress } from '../../ground/syncer-process.ts';

/** Asking costs the syncer and the test a few milliseconds each. */
const pollMs = 60;

/** A fault costs seconds; the waits for what may still arrive from a lost connection, 30 s. */
const deadlineMs = 240_000;

/** Refusals that pass by themselves. */
const passing = ['ClusterUnreachable', 'NotStarted', 'CannotCommitYet'];

/** Operates a syncer as the operator does: starts its process again when that has ended, and gives a command until it is taken. */
export class PersistentOperator {
  readonly #syncer: SyncerProcess;

  constructor(syncer: SyncerProcess) {
    this.#syncer = syncer;
  }

  /** Gives a command until the sync has taken it. Rejects when it is refused for good, or was acknowledged and has not been taken. */
  async give(
    command: string,
    body: object,
    isTaken: (progress: SyncerProgress) => boolean,
  ): Promise<void> {
    const endMs = performance.now() + deadlineMs;
    while (!isTaken(await this.reached(`the progress, for ${command}`, () => true))) {
      const { pid } = this.#syncer;
      const answer = await this.#syncer.post(command, body).catch(() => undefined);
      const progress = await this.reached(`the progress after ${command}`, () => true);
      const said = JSON.stringify(answer ?? null);
      if (answer?.status === 200) {
        assert.ok(isTaken(progress), `${command} was acknowledged: ${JSON.stringify(progress)}`);
        return;
      }
      if (answer === undefined) assert.notEqual(this.#syncer.pid, pid, 'it was killed');
      else if (!isTaken(progress))
        assert.ok(passing.includes(String(answer.body['error'])), `${command}: ${said}`);
      if (performance.now() > endMs) throw await this.#error(`${command} is refused: ${said}`);
    }
  }

  /** Waits for a progress. Rejects when the sync has failed. */
  async reached(
    what: string,
    isReached: (progress: SyncerProgress) => boolean,
  ): Promise<SyncerProgress> {
    const endMs = performance.now() + deadlineMs;
    for (;;) {
      if (this.#syncer.pid === undefined) await this.#syncer.restart();
      const answer = await this.#syncer.getProgress().catch(() => undefined);
      if (answer?.status === 200) {
        const progress = answer.body['progress'] as SyncerProgress;
        if (isReached(progress)) return progress;
      } else if (answer && !String(answer.body['error']).startsWith('NotStarted'))
        throw await this.#error(`progress answers ${JSON.stringify(answer.body)}`);
      if (performance.now() > endMs)
        throw await this.#error(`not reached: ${what}, ${JSON.stringify(answer?.body)}`);
      await sleep(pollMs, new AbortController().signal);
    }
  }

  async #error(message: string): Promise<Error> {
    return new Error(`${message}\n${(await this.#syncer.log()).slice(-4_000)}`);
  }
}
