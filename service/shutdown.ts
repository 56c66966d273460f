import { messageOf } from './errors.ts';
import type { Logger } from './logger.ts';

/** How long an orderly shutdown may take: under the 30 s that Kubernetes gives a pod by default. */
const shutdownDeadlineMs = 25_000;

/**
 * Runs a program until it ends or receives a signal to stop, and sets the process's exit code.
 * SIGTERM and SIGINT abort the signal; a second one ends the process immediately (130), as does a shutdown of over 25 s (`failed`).
 * A program that was started with a channel (`ipc`) also stops when its parent is gone, however that ended.
 * A promise that is rejected without anyone waiting for it, or an uncaught error, is logged and ends the process (`failed`).
 * @param failed - the exit code of a failure. 1 is what some commands say of data that differs: they have another.
 * @param deadlineMs - how long a shutdown may take; programs keep the default.
 */
export async function runUntilSignal(
  logger: Logger,
  main: (signal: AbortSignal) => Promise<void>,
  failed = 1,
  deadlineMs = shutdownDeadlineMs,
): Promise<void> {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals | 'disconnect'): void => {
    if (controller.signal.aborted) process.exit(130);
    logger.info({ signal: name }, 'stopping');
    setTimeout(() => {
      logger.fatal('the shutdown took too long');
      process.exit(failed);
    }, deadlineMs).unref();
    controller.abort(new Error(`stopped by ${name}`));
  };
  const crash = (error: unknown): void => {
    logger.fatal({ err: error }, 'uncaught error');
    process.exit(failed);
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
  const orphaned = (): void => {
    if (!controller.signal.aborted) stop('disconnect');
  };
  process.on('disconnect', orphaned);
  process.on('uncaughtException', crash).on('unhandledRejection', crash);
  try {
    await main(controller.signal);
  } catch (error) {
    if (!controller.signal.aborted) {
      logger.fatal({ err: error }, messageOf(error));
      process.exitCode = failed;
    }
  } finally {
    process.off('SIGTERM', stop).off('SIGINT', stop).off('disconnect', orphaned);
    // The channel would keep the process alive.
    if (process.connected) process.disconnect();
    process.off('uncaughtException', crash).off('unhandledRejection', crash);
  }
}
