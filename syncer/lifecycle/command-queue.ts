import { Mutex } from '../../service/mutex.ts';
import type { Command } from '../store/transitions.ts';

/** Commands to a sync that there is. */
export type SyncCommand = Exclude<Command, 'start'> | 'reset';

/** The commands to a syncer: they are carried out one after the other. It knows which of them are under way. */
export class CommandQueue {
  readonly #oneByOne = new Mutex();
  #commits = 0;
  #other: Exclude<SyncCommand, 'commit'> | null = null;

  /** True while a commit request has come that is not answered. */
  get isCommitInHand(): boolean {
    return this.#commits > 0;
  }

  /** The command that is being carried out, where it is not a commit: what comes meanwhile waits, and finds what it has led to. */
  get otherInHand(): string | null {
    return this.#other;
  }

  /** Runs a command when its turn has come. */
  async run<T>(command: () => Promise<T>): Promise<T> {
    return await this.#oneByOne.run(command);
  }

  /** Runs what answers a commit request, from when that has come. */
  async answerCommit(answer: () => Promise<void>): Promise<void> {
    this.#commits++;
    try {
      await answer();
    } finally {
      this.#commits--;
    }
  }

  /** Runs what carries out a command that is taken. */
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
