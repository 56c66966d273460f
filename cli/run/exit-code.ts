import { readerGoneExitCode } from '../../service/terminal.ts';

/** The exit codes of `clustersync run`. */
export const runExitCode = {
  /** Committed and, if requested, verified: both sides are equal. With --dry-run: nothing prevents the start. */
  done: 0,
  /** Committed, and the verification has found differences. */
  different: 1,
  /** Failed: standard error says why. */
  failed: 2,
  /** Caught up and paused: there was nobody to ask whether to commit. */
  notCommitted: 3,
  /** Ended by Ctrl-C or SIGTERM, and paused. */
  interrupted: 130,
  /** The summary could not be written. */
  readerGone: readerGoneExitCode,
} as const;
