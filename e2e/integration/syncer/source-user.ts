import type { Side } from './cluster-pair.ts';

const actions = {
  cluster: ['appendOplogNote', 'getParameter', 'listDatabases', 'replSetGetConfig'],
  collections: ['find', 'changeStream', 'listCollections', 'listIndexes', 'collStats'],
  blocking: ['setUserWriteBlockMode', 'bypassWriteBlockingMode'],
} as const;

/** What a user of the source may do beyond what a sync cannot do without. */
export type Allowance = 'local' | 'serverStatus';

/** A user of a source, there until it is disposed of. */
export interface SourceUser extends AsyncDisposable {
  /** The connection string. */
  readonly uri: string;
}

/** Makes a user of a source who may do what start asks for, write blocking included, and what is allowed beyond. */
export async function withUser(
  { set, client }: Side,
  allowances: readonly Allowance[],
): Promise<SourceUser> {
  const admin = client.db('admin');
  await admin.command({
    createRole: 'bare',
    roles: [],
    privileges: [
      {
        resource: { cluster: true },
        actions: [
          ...actions.cluster,
          ...actions.blocking,
          ...(allowances.includes('serverStatus') ? ['serverStatus'] : []),
        ],
      },
      { resource: { db: '', collection: '' }, actions: actions.collections },
      ...(allowances.includes('local')
        ? [{ resource: { db: 'local', collection: 'oplog.rs' }, actions: ['find', 'collStats'] }]
        : []),
    ],
  });
  await admin.command({ createUser: 'bare', pwd: 'secret', roles: ['bare'] });
  return {
    uri: set.uri('syncer').replace(/\/\/.*@/, '//bare:secret@'),
    async [Symbol.asyncDispose]() {
      await admin.command({ dropUser: 'bare' });
      await admin.command({ dropRole: 'bare' });
    },
  };
}
