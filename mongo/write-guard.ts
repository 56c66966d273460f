/** A command that writes. */
export interface WriteCommand {
  readonly db: string;
  /** What it is called: `insert`. */
  readonly name: string;
  /** What it is about: with most commands the name of a collection. */
  readonly target: unknown;
}

/** The right to write to a cluster. */
export interface WriteRight {
  /** Whether a write needs it. */
  readonly isNeededFor: (command: WriteCommand) => boolean;
  /**
   * Resolves where the cluster has confirmed the right since a connection was made, and lately. Asks it, if it has not.
   * @param connectedAtMs - by performance.now.
   */
  readonly confirm: (connectedAtMs: number) => Promise<void>;
  /** As {@link confirm}, but throws where it has not. */
  readonly require: (connectedAtMs: number) => void;
}

/**
 * What every connection of a client asks before it sends a write: at the moment of sending, as a command may have
 * waited for a server and a connection, or in a process that was frozen. Without a right, which is as it begins, all are sent.
 */
export class WriteGuard {
  right: WriteRight | undefined;
}

/** By the commands themselves: the driver hands them on to a connection, but no option that it does not know. */
const checks = new WeakMap<object, () => void>();

/**
 * A command that is sent only where a check of its own passes at the moment of sending.
 * @param assertMaySend - throws where it does not: with that the command fails.
 */
export function checkedWhenSent<C extends object>(command: C, assertMaySend: () => void): C {
  checks.set(command, assertMaySend);
  return command;
}

/** The check of a command that has one. */
export function checkOf(command: object): (() => void) | undefined {
  return checks.get(command);
}
