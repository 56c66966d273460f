import { connectionOf, type Connection } from '../../mongo/connection.ts';
import { askTopology, type Topology } from '../../mongo/topology.ts';
import { SyncError, toSyncError } from '../../service/errors.ts';
import { kebabCase } from '../../service/options.ts';
import type { DeploymentOptions } from './options.ts';

/** A reachable deployment is found much faster; a user waits no longer than this. */
const deadlineMs = 8_000;

/** The connection strings come from the user of this machine, who may name its files. */
const asker = { appName: 'clustersync run', refusesFiles: false } as const;

/** The two deployments of a migration. */
export interface Sides<T> {
  readonly source: T;
  readonly destination: T;
}

/** How both deployments are reached. @throws SyncError InvalidOption. */
export function connectionsOf(options: DeploymentOptions): Sides<Connection> {
  const given = (side: keyof Sides<unknown>): Connection =>
    connectionOf(side, options, { option: side, uri: options[side], spell: kebabCase });
  return { source: given('source'), destination: given('destination') };
}

/**
 * Determines the topologies of both deployments, concurrently.
 * @throws SyncError InvalidOption, ClusterUnreachable, ServerAnswerMalformed, AuthenticationFailed, MissingPrivileges or
 * TopologyNotSupported, in a sentence that says which of the two it is about.
 */
export async function reachBoth(
  connections: Sides<Connection>,
  signal: AbortSignal,
): Promise<Sides<Topology>> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const found = (['source', 'destination'] as const).map(async (side) => {
    try {
      return await reach(side, connections[side], either);
    } catch (error) {
      // Reports the first known error without waiting for the other deployment.
      failed.abort(error);
      throw error;
    }
  });
  await Promise.allSettled(found);
  signal.throwIfAborted();
  failed.signal.throwIfAborted();
  const [source, destination] = await Promise.all(found);
  if (!source || !destination) throw new Error('one side was not asked');
  return { source, destination };
}

/** The topologies of both deployments, or the error for each that cannot be reached: as {@link reachBoth} throws the first. */
export async function reachEach(
  connections: Sides<Connection>,
  signal: AbortSignal,
): Promise<Sides<Topology | SyncError>> {
  const found = (['source', 'destination'] as const).map(async (side) => {
    try {
      return await reach(side, connections[side], signal);
    } catch (error) {
      signal.throwIfAborted();
      return toSyncError(error);
    }
  });
  const [source, destination] = await Promise.all(found);
  if (!source || !destination) throw new Error('one side was not asked');
  return { source, destination };
}

async function reach(
  side: keyof Sides<unknown>,
  connection: Connection,
  signal: AbortSignal,
): Promise<Topology> {
  const deadline = AbortSignal.timeout(deadlineMs);
  try {
    return await askTopology(connection, asker, AbortSignal.any([signal, deadline]));
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.aborted) {
      const text = `the ${side} cannot be reached: no answer within ${deadlineMs / 1000} seconds`;
      throw new SyncError('ClusterUnreachable', text, { cause: error });
    }
    throw error instanceof SyncError ? about(side, error) : error;
  }
}

function about(side: string, error: SyncError): SyncError {
  const { name, message } = error;
  const text: Partial<Record<typeof name, string>> = {
    InvalidOption: `--${side}: ${message}`,
    ClusterUnreachable: `the ${side} cannot be reached: ${message}`,
    AuthenticationFailed: `the ${side} rejects the login: ${message}`,
  };
  return new SyncError(name, text[name] ?? `the ${side}: ${message}`, { cause: error });
}
