import type { MongoClient } from 'mongodb';
import { hasFeature } from '../../../mongo/server-features.ts';
import { majorVersion } from '../../../mongo/topology.ts';
import { mongodRelease } from '../../ground/mongod/mongod-process.ts';
import type { Side } from '../../ground/mongod/server-pair.ts';

/** What the featureCompatibilityVersion of a server of a series can be. */
export interface FeatureVersions {
  /** That of a new deployment, such as `7.0`. */
  readonly own: string;
  /** That of the series before it, such as `6.0`. */
  readonly older: string;
}

/** Those of the server of a side. */
export async function featureVersionsOf(side: Side): Promise<FeatureVersions> {
  const major = majorVersion(await mongodRelease(side));
  return { own: `${major}.0`, older: `${major - 1}.0` };
}

/** Changes it. @param client - of the config server, for a sharded cluster. */
export async function setFeatureVersion(client: MongoClient, version: string): Promise<void> {
  const admin = client.db('admin');
  const build = await admin.command({ buildInfo: 1 });
  const isConfirmed = hasFeature(String(build['version']), 'confirmedFeatureVersions');
  await admin.command({
    setFeatureCompatibilityVersion: version,
    ...(isConfirmed && { confirm: true }),
  });
}
