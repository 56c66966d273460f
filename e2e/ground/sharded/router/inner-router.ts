import type { RawDocument } from '../../../../mongo/raw-bson.ts';
import { staleTries } from './cluster-view.ts';
import { isStale, succeeded } from './command-failure.ts';
import type { RouterState } from './router-state.ts';
import { decode, encode } from './wire.ts';

/**
 * Runs a read in the inner router. Where the placement has changed, a mongod forgets nothing of it by itself, other than
 * a mongos: it is made to, and asked again.
 */
export async function readInside(
  { cluster, inner }: RouterState,
  body: RawDocument,
  signal: AbortSignal,
): Promise<RawDocument> {
  for (let attempt = 0; ; attempt++) {
    const answer = await cluster.sendTo(inner, body, signal);
    if (attempt >= staleTries || !isStale(decode(answer))) return answer;
    await cluster.sendTo(inner, encode({ flushRouterConfig: 1, $db: 'admin' }), signal);
  }
}

/**
 * Makes all inner routers read the placement of collections again that were dropped, or whose placement was replaced as a whole.
 * The servers tell shards of that, and an inner router is none. It stores the placement, the new version before the new
 * chunks: where it did not learn that a collection was dropped, and reads what it stored while it replaces that by the
 * next collection of the name, it takes chunks of the old one for the new one's (mongod 6.0.5; a mongos stores nothing).
 */
export async function refreshPlacement(
  { cluster, inners }: RouterState,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (const inner of namespaces.length === 0 ? [] : inners) {
    for (const ns of namespaces) {
      // It is answered when all of it is stored.
      const store = encode({ _flushRoutingTableCacheUpdates: ns, $db: 'admin' });
      succeeded(decode(await cluster.sendTo(inner, store, signal)));
    }
    // Anything read in the meantime is discarded.
    const forget = encode({ flushRouterConfig: 1, $db: 'admin' });
    succeeded(decode(await cluster.sendTo(inner, forget, signal)));
  }
}
