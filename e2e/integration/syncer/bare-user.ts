import type { MongoClient } from 'mongodb';

/** The actions without which a destination cannot be used: dbStats and collStats, which tell sizes, are not among them. */
const neededActions = {
  cluster: ['appendOplogNote', 'getParameter', 'listDatabases', 'replSetGetConfig'],
  collections: [
    ...['find', 'insert', 'update', 'remove', 'bypassDocumentValidation', 'createCollection'],
    ...['createIndex', 'dropCollection', 'dropIndex', 'collMod', 'renameCollectionSameDB'],
    ...['listCollections', 'listIndexes'],
  ],
};

/**
 * Creates the user `bare` on a destination, who may do no more than is needed.
 * @param uri - a connection string of another user. @returns that of the new one.
 */
export async function createBareUser(client: MongoClient, uri: string): Promise<string> {
  const admin = client.db('admin');
  const privileges = [
    { resource: { cluster: true }, actions: neededActions.cluster },
    { resource: { db: '', collection: '' }, actions: neededActions.collections },
  ];
  await admin.command({ createRole: 'bare', privileges, roles: [] });
  await admin.command({ createUser: 'bare', pwd: 'secret', roles: ['bare'] });
  return uri.replace(/\/\/.*@/, '//bare:secret@');
}
