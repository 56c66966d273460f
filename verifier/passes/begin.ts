import type { Timestamp } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { latestWriteTime, majorityTime } from '../../mongo/cluster-time.ts';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import { isSharded, timeOfAllShards } from '../../mongo/router-time.ts';
import type { OfSides, SideName } from '../compare/sides.ts';
import type { ScopeRecord, Start } from '../store/records.ts';
import { checkRights } from './change-follower.ts';
import { readScope, type ScopeOptions } from './scope.ts';

/** The part of a verification that was begun, without which no pass can be. */
export interface Begun {
  readonly scope: ScopeRecord;
  readonly starts: OfSides<Start>;
}

/** What is looked at to begin and to end a verification. */
interface Clusters extends RetryContext, OfSides<ClusterClient> {
  readonly scope: ScopeOptions;
}

/** What a new verification is about and where it begins, from now on. */
export async function begin(context: Clusters): Promise<Begun> {
  const { source, destination, signal } = context;
  return await retrying(context, 'start', async () => {
    const starts = {
      source: await startOf(source, signal),
      destination: await startOf(destination, signal),
    };
    await checkRights(source, starts.source.from, signal);
    await checkRights(destination, starts.destination.from, signal);
    return { scope: await readScope(context.scope, destination, signal), starts };
  });
}

/** Cluster times that no write acknowledged before the call is later than. Needs no right to write. */
export async function endTimes(context: Clusters, { starts }: Begun): Promise<OfSides<Timestamp>> {
  const of = async (side: SideName): Promise<Timestamp> => {
    const { signal } = context;
    const cluster = context[side];
    return await retrying(context, 'end', async () => {
      return starts[side].isSharded
        ? await timeOfAllShards(cluster, signal)
        : await latestWriteTime(cluster, signal);
    });
  };
  const [source, destination] = await Promise.all([of('source'), of('destination')]);
  return { source, destination };
}

async function startOf(cluster: ClusterClient, signal: AbortSignal): Promise<Start> {
  return (await isSharded(cluster, signal))
    ? { isSharded: true, from: await timeOfAllShards(cluster, signal) }
    : { isSharded: false, from: await majorityTime(cluster, signal) };
}
