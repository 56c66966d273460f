import type { Db, Document, MongoClient } from 'mongodb';
import type { CheckedValue } from './checked-value.ts';
import { runOnServer } from './command-on-router.ts';
import { commandDeadlineMs, limited, limitError, runCommand } from './run-command.ts';

/** Runs a command on the admin database of one server, with a deadline. @throws as {@link runCommand} does. */
export type Ask = (command: Document, signal: AbortSignal) => Promise<CheckedValue>;

/** Asks the primary of a replica set, or any router. */
export function askPrimary(admin: Db): Ask {
  return async (command, signal) => await runCommand(admin, command, { signal });
}

/**
 * Asks one router, or one member of a replica set.
 * @param address - `<host>:<port>` under which the client knows it.
 */
export function askServer(client: MongoClient, address: string): Ask {
  return async (command, signal) => {
    const deadline = AbortSignal.timeout(commandDeadlineMs);
    try {
      const sent = limited(command, commandDeadlineMs);
      return await runOnServer(client, address, sent, AbortSignal.any([signal, deadline]));
    } catch (error) {
      signal.throwIfAborted();
      throw limitError(error) ?? error;
    }
  };
}
