// Internal to the driver: its version is exact, and tests show what this is for.
import type { CommandOptions } from 'mongodb/lib/cmap/connection.js';
import { LeanConnection } from './lean-connection.ts';

const ownLimits = new WeakSet<AbortSignal>();

/** Says that a signal limits the time of a command, whatever limit of silence the client has. */
export function asOwnLimit(signal: AbortSignal): AbortSignal {
  ownLimits.add(signal);
  return signal;
}

/**
 * A connection of the driver (7.8) with two changes, besides the way of large values (LeanConnection).
 *
 * It has no limit of silence for a command whose signal is its limit. The driver takes such a limit for the client as a
 * whole alone, where it has to be as short as suits a login.
 *
 * It reads errors as objects where answers are wanted as bytes. Otherwise the driver stumbles over the topology version of
 * an error when a second one comes: a fault of the program in place of an election.
 */
export class MendedConnection extends LeanConnection {
  override async command(
    namespace: unknown,
    command: object,
    options: CommandOptions = {},
    responseType?: unknown,
  ): Promise<unknown> {
    const hasOwnLimit = options.signal !== undefined && ownLimits.has(options.signal);
    const mended = {
      ...options,
      ...(hasOwnLimit ? { socketTimeoutMS: 0 } : {}),
      ...(options.raw === true ? { documentsReturnedIn: 'cursor' } : {}),
    };
    return await super.command(namespace, command, mended, responseType);
  }
}
