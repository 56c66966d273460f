import type { RawDocument } from '../../../../mongo/raw-bson.ts';
import { staleTries } from './cluster-view.ts';
import { isStale } from './command-failure.ts';
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
