import { Mutex } from '../../service/mutex.ts';
import type { Command } from '../store/transitions.ts';

/** Commands to an existing sync. */
export type SyncCommand = Exclude<Command, 'start'> | 'reset';

/** Runs the commands to a syncer one after the other, and knows which are under way. */
export class CommandQueue {
  readonly #oneByOne = new Mutex();
  #commits = 0;
  #other: Exclude<SyncCommand, 'commit'> | null = null;

  /** True while a commit request is unanswered. */
  get isCommitInHand(): boolean {
    return this.#commits > 0;
  }

  /** The command that is being carried out, unless it is a commit: later commands wait for it, and find its result. */
  get otherInHand(): string | null {
    return this.#other;
  }

  /** Runs a command when its turn comes. */
  async run<T>(command: () => Promise<T>): Promise<T> {
    return await this.#oneByOne.run(command);
  }

  /** Answers a commit request, which counts as unanswered from this call on. */
  async answerCommit(answer: () => Promise<void>): Promise<void> {
    this.#commits++;
    try {
      await answer();
    } finally {
      this.#commits--;
    }
  }

  /** Carries out a command that was accepted. */
  async carryOut<T>(command: SyncCommand, act: () => Promise<T>): Promise<T> {
    if (command === 'commit') return await act();
    this.#other = command;
    try {
      return await act();
    } finally {
      this.#other = null;
    }
  }
}
