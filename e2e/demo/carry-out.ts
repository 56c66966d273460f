import { messageOf } from '../../service/errors.ts';
import type { Screen } from './screen.ts';

/** Somebody has ended the demo. */
export class Interruption extends Error {
  override readonly name = 'Interruption';
}

/** The outcome of a demo that has run to its end. */
export interface DemoOutcome {
  readonly isEqual: boolean;
  /** What a person reads last. */
  readonly lastWords?: string;
}

/** A demo. It cleans up before it settles. */
export interface Demo {
  /** Rejects when the signal is aborted, which happens at SIGINT, SIGTERM and SIGHUP, with an {@link Interruption}. */
  readonly work: (signal: AbortSignal) => Promise<DemoOutcome>;
  /** Is told of the first such signal at once. */
  readonly onInterruption?: (signal: NodeJS.Signals) => void;
}

/** Carries out a demo, and sets the exit code: 0 when both sides are equal, 130 when it was interrupted, otherwise 1. */
export async function carryOut(screen: Screen, { work, onInterruption }: Demo): Promise<void> {
  const interruption = new AbortController();
  const interrupt = (signal: NodeJS.Signals): void => {
    if (interruption.signal.aborted) return;
    onInterruption?.(signal);
    interruption.abort(new Interruption(`interrupted by ${signal}`));
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt).on('SIGHUP', interrupt);
  process.exitCode = 1;
  try {
    const { isEqual, lastWords } = await work(interruption.signal);
    screen.step(
      isEqual
        ? 'done: both sides are equal. Everything that was started has been removed'
        : 'FAILED: the two sides have not been proven equal',
    );
    if (lastWords !== undefined) screen.print(lastWords);
    process.exitCode = isEqual ? 0 : 1;
  } catch (error) {
    screen.step(`FAILED: ${messageOf(error)}`);
    if (interruption.signal.aborted || error instanceof Interruption) process.exitCode = 130;
  }
}
