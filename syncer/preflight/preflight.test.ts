import assert from 'node:assert/strict';
import type { NamespaceInfo } from '../../mongo/catalog.ts';
import type { Topology } from '../../mongo/topology.ts';
import { SyncError } from '../../service/errors.ts';
import { createLogger } from '../../service/logger.ts';
import { defaultOptions } from '../../sync-api/testing/start-examples.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import type { CheckSubject } from './check-subject.ts';
import { findBlockers, requireStart } from './preflight.ts';

type Kind = NamespaceInfo['kind'];

interface Scene {
  readonly options?: Partial<StartOptions>;
  readonly destinationVersion?: string;
  /** The deployment of the destination. */
  readonly clusterId?: string;
  /** What the source and the destination have that the filter selects. */
  readonly onSource?: readonly Kind[];
  readonly onDestination?: readonly Kind[];
  /** Which clusters hold the record of a sync, and whether that is between the two. */
  readonly records?: readonly string[];
  readonly isBetween?: boolean;
  /** Why no record can be read. */
  readonly failure?: SyncError;
}

/** Two deployments that answer no commands: checks that send some fail. */
function subjectOf(scene: Scene): CheckSubject {
  const topology = (clusterId: string): Topology => ({
    ...{ setName: clusterId, host: `${clusterId}:1`, version: '6.0.5', shards: [], clusterId },
    kind: 'replicaSet',
  });
  const listing = (kinds: readonly Kind[] = []) => ({
    entries: [],
    selected: kinds.map((kind) => ({
      ...{ kind, namespace: { db: 'shop', coll: kind }, options: {} },
    })),
  });
  const source = {
    ...{ side: 'source', option: 'cluster0' },
    topology: topology('zero'),
    version: async () => await Promise.resolve('6.0.5'),
    listing: async () => await Promise.resolve(listing(scene.onSource)),
  };
  const destination = {
    ...{ side: 'destination', option: 'cluster1' },
    topology: topology(scene.clusterId ?? 'one'),
    version: async () => await Promise.resolve(scene.destinationVersion ?? '6.0.5'),
    listing: async () => await Promise.resolve(listing(scene.onDestination)),
  };
  const readSync = async (name: string): Promise<object | undefined> => {
    if (scene.failure) throw scene.failure;
    return await Promise.resolve(scene.records?.includes(name) ? {} : undefined);
  };
  const subject = {
    ...{ source, destination, sides: [source, destination] },
    options: {
      ...{ source: 'cluster0', destination: 'cluster1' },
      ...{ ...defaultOptions, ...scene.options },
    },
    pair: {
      recordOn: (name: string) => ({ readSync: async () => await readSync(name) }),
      isBetween: () => scene.isBetween ?? false,
    },
    filter: {
      tryPatterns: async () => {
        await Promise.resolve();
      },
    },
    signal: new AbortController().signal,
  };
  return subject as unknown as CheckSubject;
}

/** What is found besides the checks that cannot be carried out here. */
async function found(scene: Scene): Promise<string[]> {
  const blockers = await findBlockers(subjectOf(scene));
  const failed = blockers.filter(({ error }) => error.name === 'InternalError');
  assert.ok(failed.length > 0, 'a check that fails prevents none after it');
  return blockers
    .filter((each) => !failed.includes(each))
    .map(({ error, side, namespaces = [] }) => [error.name, side, ...namespaces].join(' ').trim());
}

const reversible = { reversible: true } as const;

describe('what prevents a start', () => {
  const cases: readonly (readonly [string, Scene, readonly string[]])[] = [
    ['nothing', {}, []],
    ['one deployment as both', { clusterId: 'zero' }, ['SameCluster']],
    [
      'a destination that is too far ahead',
      { destinationVersion: '9.0.0' },
      ['ServerVersionNotSupported'],
    ],
    [
      'a destination that is too old, and older than the source',
      { destinationVersion: '5.0.31' },
      ['ServerVersionNotSupported', 'ServerVersionNotSupported'],
    ],
    [
      'another major version, to be reversed',
      { destinationVersion: '7.0.1', options: reversible },
      ['ReversibleNotSupported'],
    ],
    ['not another major version, never to be reversed', { destinationVersion: '7.0.1' }, []],
    ['not the same major version, to be reversed', { options: reversible }, []],
    [
      'a sync of others on the destination',
      { records: ['cluster1'] },
      ['OtherSyncUnfinished destination'],
    ],
    ['not the sync of both on the destination', { records: ['cluster1'], isBetween: true }, []],
    [
      'a sync on the source, to be reversed',
      { records: ['cluster0'], options: reversible },
      ['OtherSyncUnfinished source'],
    ],
    ['not a sync on the source, never to be reversed', { records: ['cluster0'] }, []],
    [
      'data on the destination',
      { onDestination: ['view'] },
      ['DestinationNotEmpty destination shop.view'],
    ],
    [
      'not data on the destination that is expected there',
      { onDestination: ['view'], options: { initialData: 'Present' } },
      [],
    ],
    [
      'what cannot be synced',
      { onSource: ['view', 'timeseries'] },
      ['TimeSeriesNotSupported source shop.timeseries'],
    ],
  ];
  for (const [what, scene, expected] of cases) {
    it(`is ${what}`, async () => {
      assert.deepEqual(await found(scene), expected);
    });
  }

  it('refuses a start by the first, which says where all are listed', async () => {
    const logger = createLogger('test', 'fatal');
    const subject = subjectOf({ records: ['cluster1'], clusterId: 'zero' });
    await assert.rejects(requireStart(subject, logger), {
      name: 'OtherSyncUnfinished',
      message: /; there may be more blockers: clustersync check lists all$/,
    });
  });

  it('does not refuse a start by a deployment that does not answer', async () => {
    const logger = createLogger('test', 'fatal');
    const failure = new SyncError('ClusterUnreachable', 'no answer');
    await assert.rejects(requireStart(subjectOf({ failure }), logger), failure);
  });
});
