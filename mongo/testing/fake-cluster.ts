import { BSON, Long, MongoClient, type Document, type MongoClientOptions } from 'mongodb';
import type { ClusterClient } from '../cluster-client.ts';

/** Answers a command to a database; what it throws is the answer's error. */
export type Responder = (command: Document, db: string) => Document | Promise<Document>;

/** What the driver has of a command on its way. */
interface Operation {
  readonly ns: { readonly db: string };
  readonly command: Document;
}

/** A cluster without servers, for what is read of one with commands: its clients find an answer where they would choose a server. */
export function fakeCluster(respond: Responder): ClusterClient {
  const server = {
    description: { type: 'RSPrimary', address: 'fake:1' },
    // Through bytes, as over the network: each client decodes them in its own way.
    command: async ({ ns, command }: Operation): Promise<object> => {
      const bytes = BSON.serialize({ ok: 1, ...(await respond(received(command), ns.db)) });
      return { toObject: (options: BSON.DeserializeOptions) => BSON.deserialize(bytes, options) };
    },
  };
  const topology = {
    description: { type: 'ReplicaSetWithPrimary' },
    s: { options: {} },
    selectServer: () => Promise.resolve(server),
  };
  const clientWith = (options: MongoClientOptions): MongoClient =>
    Object.assign(new MongoClient('mongodb://fake:1', options), { topology });
  const decoded = clientWith({});
  return { raw: clientWith({ raw: true }), decoded, admin: decoded.db('admin') } as ClusterClient;
}

/** A cursor whose batches have all been sent with the first. */
export function wholeCursor(documents: readonly Document[]): Document {
  return { cursor: { id: Long.ZERO, ns: 'a.b', firstBatch: documents } };
}

/** A command as a server reads it. */
function received(command: Document): Document {
  return BSON.deserialize(BSON.serialize(command), { promoteValues: false });
}
