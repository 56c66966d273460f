import { readerGoneExitCode } from '../../service/terminal.ts';

/** The exit codes of `clustersync check`. */
export const checkExitCode = {
  /** Nothing prevents the start. */
  done: 0,
  /** At least one blocker. */
  blocked: 1,
  /** Nothing was checked: standard error says why. */
  failed: 2,
  interrupted: 130,
  /** The findings could not be written. */
  readerGone: readerGoneExitCode,
} as const;
