/** A command that writes. */
export interface WriteCommand {
  readonly db: string;
  /** Its name, such as `insert`. */
  readonly name: string;
  /** Its target: for most commands the name of a collection. */
  readonly target: unknown;
}

/** The right to write to a cluster. */
export interface WriteRight {
  /** Whether a write needs it. */
  readonly isNeededFor: (command: WriteCommand) => boolean;
  /**
   * Resolves if the cluster has confirmed the right since a connection was made, and lately. Asks it if it has not.
   * @param connectedAtMs - by performance.now.
   */
  readonly confirm: (connectedAtMs: number) => Promise<void>;
  /** As {@link confirm}, but throws if it has not. */
  readonly require: (connectedAtMs: number) => void;
}

/**
 * What every connection of a client consults before it sends a write: at the moment of sending, as a command may have waited
 * for a server and a connection, or in a process that was frozen. Without a right, which is the initial state, all are sent.
 */
export class WriteGuard {
  right: WriteRight | undefined;
}

/** Keyed by the commands themselves: the driver passes them on to a connection, but no option that it does not know. */
const checks = new WeakMap<object, () => void>();

/**
 * A command that is sent only if its own check passes at the moment of sending.
 * @param assertMaySend - throws if it does not pass: the command fails with that error.
 */
export function checkedWhenSent<C extends object>(command: C, assertMaySend: () => void): C {
  checks.set(command, assertMaySend);
  return command;
}

/** The check of a command that has one. */
export function checkOf(command: object): (() => void) | undefined {
  return checks.get(command);
}
