import { majorVersion } from '../../../mongo/topology.ts';
import { mongodRelease } from '../../ground/mongod/mongod-process.ts';
import { skipBecause } from '../../runner/skip.ts';

/** Skips the running test, or in a `before` hook its suite, on servers between which a sync cannot be reversed. */
export async function skipUnlessReversible(context: Mocha.Context): Promise<void> {
  const [source, destination] = await Promise.all([
    mongodRelease('source'),
    mongodRelease('destination'),
  ]);
  if (majorVersion(source) !== majorVersion(destination))
    skipBecause(context, `a sync from ${source} to ${destination} cannot be reversed`);
}
