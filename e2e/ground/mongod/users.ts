import { MongoServerError, type MongoClient } from 'mongodb';
import { defaultDeadlineMs } from '../default-deadline.ts';

/** A password with characters that a connection string must percent-encode. */
export const testPassword = 'p@ss/w:rd%';

/**
 * The built-in roles that the guide asks for the syncer's user, by side of the sync. A sync that can be reversed needs
 * `sourceWithWriteBlocking` on both sides.
 */
export const syncerRoles = {
  source: ['backup', 'clusterMonitor', 'readAnyDatabase'],
  destination: ['clusterManager', 'clusterMonitor', 'readWriteAnyDatabase', 'restore'],
  sourceWithWriteBlocking: [
    'backup',
    'clusterMonitor',
    'readAnyDatabase',
    'clusterManager',
    'readWriteAnyDatabase',
    'restore',
  ],
} as const;

/** A key of {@link syncerRoles}. */
export type SyncerRoles = keyof typeof syncerRoles;

/**
 * `admin` may do everything, `syncer` has the roles that the documentation asks for, `app` is an ordinary user who may
 * read and write all data and whom write blocking stops.
 */
export type TestUser = 'admin' | 'syncer' | 'app';

/** The code by which a server refuses what `app` writes while users are blocked. */
export const userWritesBlocked = 371;

/** Roles of each user, in the order in which they are created: the first one needs the localhost exception. */
export function rolesOfUsers(
  roles: SyncerRoles,
): readonly (readonly [TestUser, readonly string[]])[] {
  return [
    ['admin', ['root']],
    ['syncer', syncerRoles[roles]],
    ['app', ['readWriteAnyDatabase']],
  ];
}

/** The part of a connection string before the hosts, percent-encoded. */
export function credentials(user: TestUser): string {
  return `${user}:${encodeURIComponent(testPassword)}`;
}

const userExists = 51003;

/** Creates a user, acknowledged by so many members, which keep it when they are killed. May be called again. */
export async function createUser(
  client: MongoClient,
  user: TestUser,
  roles: readonly string[],
  w: number,
): Promise<void> {
  const rest = {
    pwd: testPassword,
    roles,
    mechanisms: ['SCRAM-SHA-256'],
    writeConcern: { w, j: true, wtimeout: defaultDeadlineMs },
  };
  const admin = client.db('admin');
  try {
    await admin.command({ createUser: user, ...rest });
  } catch (error) {
    if (!(error instanceof MongoServerError && error.code === userExists)) throw error;
    // By a call that failed, and which not so many members may have acknowledged.
    await admin.command({ updateUser: user, ...rest });
  }
}
