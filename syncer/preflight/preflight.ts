import { unsupportedError } from '../../mongo/collection-options.ts';
import { selectionText } from '../../mongo/filter-selection.ts';
import type { NamespaceInfo } from '../../mongo/catalog.ts';
import { namedError } from '../../mongo/named-error.ts';
import { oddNameError } from '../../mongo/specification.ts';
import { majorVersion } from '../../mongo/topology.ts';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { topologyErrors, type StartOptions } from '../options/command-bodies.ts';
import { checkBalancer } from './check-balancer.ts';
import { checkPrivileges } from './check-privileges.ts';
import { checkSharding } from './check-sharding.ts';
import { namesOf, textsOf, type CheckedSide, type CheckSubject } from './check-subject.ts';
import {
  checkFeatureVersion,
  requireFeatureVersionPair,
  serverVersionErrors,
  type Versioned,
} from './check-versions.ts';
import { blocker, type Blocker } from './finding.ts';

/** One condition of a start: what does not hold is returned, or thrown if it is one error. */
interface Check {
  /** The side that is queried, if it is one. */
  readonly side?: CheckedSide['side'];
  readonly run: (subject: CheckSubject) => Promise<readonly Blocker[]>;
}

/** Everything that a start requires of the two clusters, in the order in which a start reports it. */
const checks: readonly Check[] = [
  { side: 'destination', run: checkStoredSync },
  { run: checkTopologies },
  { run: checkServerVersions },
  ...ofEach(async ({ options, destination, signal }, { side, cluster }) => {
    const destinationKind = destination.topology.kind;
    await checkPrivileges({ side, cluster, options, destinationKind }, signal);
  }),
  { run: checkFeatureVersions },
  ...ofEach(async ({ signal }, { cluster, option, topology }) => {
    await checkBalancer(cluster, option, topology, signal);
  }),
  { side: 'source', run: checkPatterns },
  { side: 'source', run: checkKinds },
  { side: 'source', run: checkSharding },
  { side: 'destination', run: checkEmpty },
  { side: 'source', run: checkOtherRecord },
];

/**
 * Checks both clusters before anything is written.
 * @param logger - gets what each entry of the filter matches on the source.
 * @throws SyncError with the name of the first condition that does not hold. Its message says where all of them are listed: to
 * look for the others would take time, and the check does.
 */
export async function requireStart(subject: CheckSubject, logger: Logger): Promise<void> {
  for (const { run } of checks) {
    let first: Blocker | undefined;
    try {
      [first] = await run(subject);
    } catch (thrown) {
      subject.signal.throwIfAborted();
      const error = namedError(thrown);
      // A deployment that does not answer says nothing of the start.
      throw error.row.retryable || error.row.status >= 500 ? thrown : refusalOf(error);
    }
    if (first) throw refusalOf(first.error);
    if (run !== checkPatterns) continue;
    const { entries } = await subject.source.listing();
    for (const entry of entries) logger.info(entry, selectionText(entry));
  }
}

function refusalOf({ name, message, cause }: SyncError): SyncError {
  const text = `${message}; there may be more blockers: clustersync check lists all`;
  return new SyncError(name, text, { cause });
}

/** All that prevents a start. A check that cannot be carried out does, too, and prevents none of the other checks. */
export async function findBlockers(subject: CheckSubject): Promise<Blocker[]> {
  const findings: Blocker[] = [];
  for (const { side, run } of checks)
    findings.push(...(await blockersOf(subject, side, async () => await run(subject))));
  return findings;
}

/** The same check of the source, and of the destination. */
function ofEach(
  run: (subject: CheckSubject, side: CheckedSide) => Promise<void>,
): readonly Check[] {
  return (['source', 'destination'] as const).map((side) => ({
    side,
    run: async (subject) => {
      await run(subject, subject[side]);
      return [];
    },
  }));
}

/** What `run` returns, or its error as a blocker. */
async function blockersOf(
  { signal }: CheckSubject,
  side: CheckedSide['side'] | undefined,
  run: () => Promise<readonly Blocker[]>,
): Promise<readonly Blocker[]> {
  try {
    return await run();
  } catch (error) {
    signal.throwIfAborted();
    return [blocker(namedError(error), side && { side })];
  }
}

/** The error for a destination that holds the state of a sync between other deployments. */
export function otherSync({ destination }: Pick<StartOptions, 'destination'>): SyncError {
  return new SyncError(
    'OtherSyncUnfinished',
    `${destination} holds the state of another sync, between other deployments, in clustersync_internal`,
  );
}

async function checkStoredSync({ pair, options }: CheckSubject): Promise<Blocker[]> {
  const { destination } = options;
  const stored = await pair.recordOn(destination).readSync();
  if (!stored || pair.isBetween(stored, destination)) return [];
  return [blocker(otherSync(options), { side: 'destination' })];
}

async function checkTopologies({ options, source, destination }: CheckSubject): Promise<Blocker[]> {
  const [from, to] = [source.topology, destination.topology];
  const errors = topologyErrors(options, from, to);
  if (from.clusterId === to.clusterId)
    errors.push(
      new SyncError(
        'SameCluster',
        `${source.option} and ${destination.option} are the same deployment, ${from.setName || from.host}`,
      ),
    );
  return await Promise.resolve(errors.map((error) => blocker(error)));
}

/** Of the servers; and what a reversal needs in addition: the clusters change places. */
async function checkServerVersions({
  options,
  source,
  destination,
}: CheckSubject): Promise<Blocker[]> {
  const versionOf = async ({ option, topology, version }: CheckedSide): Promise<Versioned> => ({
    ...{ option, host: topology.host, version: await version() },
  });
  const [from, to] = [await versionOf(source), await versionOf(destination)];
  const errors = serverVersionErrors(from, to);
  if (options.reversible && majorVersion(from.version) !== majorVersion(to.version))
    errors.push(
      new SyncError(
        'ReversibleNotSupported',
        `the source runs ${from.version} and the destination ${to.version}: the major versions must be equal`,
      ),
    );
  return errors.map((error) => blocker(error));
}

async function checkFeatureVersions(subject: CheckSubject): Promise<readonly Blocker[]> {
  const blockers: Blocker[] = [];
  const versions: Versioned[] = [];
  for (const { side, cluster, option, topology } of subject.sides)
    blockers.push(
      ...(await blockersOf(subject, side, async () => {
        versions.push(await checkFeatureVersion(cluster, option, topology, subject.signal));
        return [];
      })),
    );
  const [from, to] = versions;
  if (from && to) requireFeatureVersionPair(from, to);
  return blockers;
}

async function checkPatterns({ filter }: CheckSubject): Promise<Blocker[]> {
  await filter.tryPatterns();
  return [];
}

/** What cannot be synced. */
async function checkKinds({ source, destination }: CheckSubject): Promise<Blocker[]> {
  const { selected } = await source.listing();
  const version = await destination.version();
  const blockers: Blocker[] = [];
  const add = (kind: NamespaceInfo['kind'], errorOf: (names: string) => SyncError): void => {
    const infos = selected.filter((info) => info.kind === kind);
    if (infos.length > 0)
      blockers.push(
        blocker(errorOf(namesOf(infos)), { side: 'source', namespaces: textsOf(infos) }),
      );
  };
  add('timeseries', (names) => {
    const text = `the source has time-series collections: ${names}`;
    return new SyncError('TimeSeriesNotSupported', text);
  });
  add('oddlyNamed', oddNameError);
  for (const info of selected) {
    if (info.kind !== 'collection') continue;
    const error = unsupportedError(info.namespace, info.options, version);
    if (error) blockers.push(blocker(error, { side: 'source', namespaces: textsOf([info]) }));
  }
  return blockers;
}

async function checkEmpty({ destination, options }: CheckSubject): Promise<Blocker[]> {
  if (options.initialData === 'Present') return [];
  const { selected } = await destination.listing();
  if (selected.length === 0) return [];
  const text = `the destination already has data: ${namesOf(selected)}`;
  const where = { side: 'destination', namespaces: textsOf(selected) } as const;
  return [blocker(new SyncError('DestinationNotEmpty', text), where)];
}

/** A reversal will move the state of the sync to the source. */
async function checkOtherRecord({ pair, options }: CheckSubject): Promise<Blocker[]> {
  const { source, reversible } = options;
  if (!reversible || (await pair.recordOn(source).readSync()) === undefined) return [];
  const text = `${source} holds the state of another sync, in clustersync_internal`;
  return [blocker(new SyncError('OtherSyncUnfinished', text), { side: 'source' })];
}
