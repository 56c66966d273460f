import type { Document, MongoClient } from 'mongodb';

/** Writes as `mongorestore --oplogReplay` does: change streams of a 6.0 server tell nothing of it. */
export async function applyOps(
  client: MongoClient,
  operations: readonly Document[],
): Promise<void> {
  const admin = client.db('admin');
  const anything = [{ resource: { anyResource: true }, actions: ['anyAction'] }];
  await admin.command({ createRole: 'anything', privileges: anything, roles: [] });
  try {
    await admin.command({ grantRolesToUser: 'admin', roles: ['anything'] });
    await admin.command({ applyOps: operations });
  } finally {
    await admin.command({ dropRole: 'anything' });
  }
}
