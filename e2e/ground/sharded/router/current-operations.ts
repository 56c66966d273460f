import type { Document } from 'mongodb';
import { isDeepStrictEqual } from 'node:util';
import type { RawDocument } from '../../../../mongo/raw-bson.ts';
import type { ClientSession, CommandRequest, RouterState } from './router-state.ts';
import { encode } from './wire.ts';

/** Whether `$currentOp` asks for no other user's operations. */
export function isOfOwnUser({ allUsers }: Document): boolean {
  return allUsers !== true;
}

/** Whether a pipeline asks a router for its own operations, not for those of the shards. */
export function isOfRouter([first]: readonly Document[]): boolean {
  const asked = first?.['$currentOp'] as { localOps?: unknown } | undefined;
  return asked?.localOps === true;
}

/** `$currentOp` with `localOps`: the clients of a router and what it does for them. What follows it, the inner router does. */
export async function currentOperations(
  { clients, inner, cluster }: RouterState,
  request: CommandRequest,
  [first, ...rest]: readonly Document[],
): Promise<RawDocument> {
  const asked = (first?.['$currentOp'] ?? {}) as Document;
  const users = usersOf(request.session);
  const shown = [...clients].filter((client) => {
    const isShown = client.operation !== undefined || asked['idleConnections'] === true;
    return isShown && (!isOfOwnUser(asked) || isDeepStrictEqual(usersOf(client), users));
  });
  // As a literal, since a client may have said of itself what looks like an expression.
  const documents = shown.map((client) => ({ $literal: operationOf(client) }));
  const pipeline = [{ $documents: documents }, ...rest];
  const command = { aggregate: 1, pipeline, cursor: { batchSize: 10_000 }, $db: 'admin' };
  return await cluster.sendTo(inner, encode(command), request.signal);
}

function operationOf({
  connectionId,
  clientMetadata,
  operation,
  ...client
}: ClientSession): Document {
  return {
    type: 'op',
    host: 'router of the tests',
    desc: `conn${connectionId}`,
    connectionId,
    clientMetadata,
    appName: (clientMetadata?.['application'] as Document | undefined)?.['name'] as unknown,
    effectiveUsers: usersOf(client),
    active: operation !== undefined,
    ...(operation && {
      opid: connectionId,
      op: 'command',
      ns: `${operation.db}.$cmd`,
      currentOpTime: operation.since.toISOString(),
      command: { [operation.name]: 1, $db: operation.db },
    }),
  };
}

function usersOf({ login }: Pick<ClientSession, 'login'>): unknown {
  const info = login?.connectionStatus['authInfo'] as Document | undefined;
  return info?.['authenticatedUsers'] ?? [];
}
