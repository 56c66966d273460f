import { isOlderRelease, majorVersion } from '../../../mongo/topology.ts';
import { mongodRelease } from '../../ground/mongod/mongod-process.ts';
import { skipBecause } from '../../runner/skip.ts';

interface Releases {
  readonly source: string;
  readonly destination: string;
}

async function releases(): Promise<Releases> {
  const [source, destination] = await Promise.all([
    mongodRelease('source'),
    mongodRelease('destination'),
  ]);
  return { source, destination };
}

/** Whether a sync can be reversed between the servers of this run: those of one major version. */
export async function isReversiblePair(): Promise<boolean> {
  const { source, destination } = await releases();
  return majorVersion(source) === majorVersion(destination);
}

/** Skips the running test, or in a `before` hook its suite, on servers between which a sync cannot be reversed. */
export async function skipUnlessReversible(context: Mocha.Context): Promise<void> {
  const { source, destination } = await releases();
  if (majorVersion(source) !== majorVersion(destination))
    skipBecause(context, `a sync from ${source} to ${destination} cannot be reversed`);
}

/** Whether a sync can go from the destination to the source: where the source's server is not older. */
export async function isOtherWayPossible(): Promise<boolean> {
  const { source, destination } = await releases();
  return !isOlderRelease(source, destination);
}

/** Skips the running test, or in a `before` hook its suite, where the source is too old for a sync from the destination to it. */
export async function skipUnlessOtherWay(context: Mocha.Context): Promise<void> {
  const { source, destination } = await releases();
  if (isOlderRelease(source, destination))
    skipBecause(context, `a sync cannot go from ${destination} to ${source}, which is older`);
}
