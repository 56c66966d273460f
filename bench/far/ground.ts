import { MongoClient } from 'mongodb';
import { startReplicaSet, type ReplicaSet } from '../../e2e/ground/mongod/replica-set.ts';
import { DelayLine } from './delay-line.ts';

export type Side = 'source' | 'destination';

/** Two replica sets, each behind a link whose delay can be set. Only syncers notice the links. */
export interface FarGround extends AsyncDisposable {
  readonly sets: Readonly<Record<Side, ReplicaSet>>;
  readonly clients: Readonly<Record<Side, MongoClient>>;
  readonly links: Readonly<Record<Side, DelayLine>>;
}

/** Starts the servers, `members` on each side. */
export async function startFarGround(members: 1 | 3): Promise<FarGround> {
  await using stack = new AsyncDisposableStack();
  const sideOf = async (
    name: Side,
  ): Promise<{ set: ReplicaSet; client: MongoClient; link: DelayLine }> => {
    const link = stack.use(DelayLine.start());
    const front = async (port: number): Promise<string> => `127.0.0.1:${await link.open(port)}`;
    const set = stack.use(await startReplicaSet({ members, name, oplogSizeMB: 4096, front }));
    const client = new MongoClient(set.uri('admin'));
    stack.defer(async () => {
      await client.close();
    });
    return { set, client, link };
  };
  const [source, destination] = [await sideOf('source'), await sideOf('destination')];
  const all = stack.move();
  return {
    sets: { source: source.set, destination: destination.set },
    clients: { source: source.client, destination: destination.client },
    links: { source: source.link, destination: destination.link },
    [Symbol.asyncDispose]: async () => {
      await all.disposeAsync();
    },
  };
}
