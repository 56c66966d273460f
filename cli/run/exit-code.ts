import { readerGoneExitCode } from '../../service/terminal.ts';

/** What `clustersync run` says by its exit code. */
export const runExitCode = {
  /** Committed and, where that was asked for, verified: both sides are equal. With --dry-run: nothing is in the way. */
  done: 0,
  /** Committed, and the verification has found differences. */
  different: 1,
  /** What standard error says. */
  failed: 2,
  /** Caught up and paused: there was nobody to ask whether to commit. */
  notCommitted: 3,
  /** Ended by Ctrl-C or SIGTERM, and paused. */
  interrupted: 130,
  /** Nobody reads the summary. */
  readerGone: readerGoneExitCode,
} as const;
