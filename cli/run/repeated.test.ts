import assert from 'node:assert/strict';
import { connectionOptions } from '../../mongo/connection.ts';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SyncError } from '../../service/errors.ts';
import { differencesOf, optionsDigest } from '../../sync-api/options-digest.ts';
import { compileOptions } from '../../service/options.ts';
import type { StartBody } from '../../sync-api/json.ts';
import { otherOptions } from '../../sync-api/testing/start-examples.ts';
import type { SyncProgress } from '../api/combine.ts';
import { syncOf } from '../api/testing/reported.ts';
import { runOptionTable } from './options.ts';
import { beginSync, lookAtSync, requireOwnSync } from './own-sync.ts';
import { startBodyOf } from './start-body.ts';

type Flags = Readonly<Record<string, unknown>>;

/** What happens to a sync when the command that started it is run again with another value of a flag. */
type Outcome =
  /** The command is refused, and names the option: the sync was started with another value. */
  | { readonly refusedFor: string }
  /** It continues: the flag controls how the sync is run, shown or ended here, not what is moved. */
  | 'the same sync'
  /** The syncer finds out which deployment that is: it continues no sync from another source, or to another destination. */
  | 'as its deployments are';

const { source, destination } = { source: 'mongodb://old/', destination: 'mongodb://new/' };

/** The flag for an option of a start: a filter is given as JSON, another list or mapping in a file. */
function flagFor([name, value]: readonly [string, unknown]): readonly [string, unknown] {
  if (name.endsWith('Namespaces')) return [name, JSON.stringify(value)];
  return typeof value === 'object' ? [`${name}File`, `{folder}/${name}.json`] : [name, value];
}

function flagsFor(start: object): Flags {
  return Object.fromEntries(Object.entries(start).map(flagFor));
}

type Row = readonly [outcome: Outcome, to: Flags, from?: Flags];

/** Each flag with a changed value, and its previous value if that is not the default. `{folder}` contains the files. */
const flags: Readonly<Record<string, Row>> = {
  ...Object.fromEntries(
    otherOptions.map(([name, one, other]): [string, Row] => {
      const to = flagsFor(other);
      return [Object.keys(to).at(-1) ?? '', [{ refusedFor: name }, to, flagsFor(one)]];
    }),
  ),
  source: ['as its deployments are', { source: 'mongodb://older/' }],
  destination: ['as its deployments are', { destination: 'mongodb://newer/' }],
  ...Object.fromEntries(
    (['source', 'destination'] as const).flatMap((side) =>
      Object.keys(connectionOptions(side, side)).map((name): [string, Row] => [
        name,
        ['the same sync', { [name]: 'other' }],
      ]),
    ),
  ),
  dryRun: ['the same sync', { dryRun: true }],
  commitWhenCaughtUp: ['the same sync', { commitWhenCaughtUp: true }],
  maxLagSeconds: ['the same sync', { maxLagSeconds: 60 }],
  verify: ['the same sync', { verify: false }],
  includeNamespaces: [{ refusedFor: 'includeNamespaces' }, { includeNamespaces: 'shop' }],
  excludeNamespaces: [{ refusedFor: 'excludeNamespaces' }, { excludeNamespaces: 'shop.items' }],
  limitCopyBytesPerSecond: ['the same sync', { limitCopyBytesPerSecond: 2_000_000 }],
  limitCopyDocumentsPerSecond: ['the same sync', { limitCopyDocumentsPerSecond: 7 }],
  limitChangesPerSecond: ['the same sync', { limitChangesPerSecond: 7 }],
  limitConcurrentBatches: ['the same sync', { limitConcurrentBatches: 7 }],
  holdBackReplicationLagSeconds: ['the same sync', { holdBackReplicationLagSeconds: 7 }],
  holdBackQueuedOperations: ['the same sync', { holdBackQueuedOperations: 7 }],
  holdBackCacheDirtyPercent: ['the same sync', { holdBackCacheDirtyPercent: 7 }],
  holdBackFreeDiskPercent: ['the same sync', { holdBackFreeDiskPercent: 7 }],
  limitsFile: ['the same sync', { limitsFile: '{folder}/limits.yaml' }],
  copyWorkers: ['the same sync', { copyWorkers: 3 }],
  applyWorkers: ['the same sync', { applyWorkers: 3 }],
  verifierMaxBytesPerSecond: ['the same sync', { verifierMaxBytesPerSecond: 2_000_000 }],
  verifierReadPreference: ['the same sync', { verifierReadPreference: 'secondary' }],
  output: ['the same sync', { output: 'json' }],
  web: ['the same sync', { web: 0 }],
  logFile: ['the same sync', { logFile: '{folder}/log' }],
  config: ['the same sync', { config: '{folder}/config.yaml' }],
};

describe('clustersync run, repeated with another', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clustersync-repeated-'));
    for (const [name, value] of otherOptions.flatMap(([, , other]) => Object.entries(other)))
      await writeFile(join(folder, `${name}.json`), JSON.stringify(value));
    await writeFile(join(folder, 'sharding.yaml'), 'sharding: { shardingEntries: [] }');
    await writeFile(join(folder, 'other.json'), '{"shardingEntries": []}');
    await writeFile(join(folder, 'limits.yaml'), 'limits: { maxChangesPerSecond: 7 }');
    await writeFile(join(folder, 'config.yaml'), 'maxLagSeconds: 20');
    await writeFile(join(folder, 'filter.yaml'), 'includeNamespaces: shop');
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  function bodyOf(given: Flags): StartBody {
    const named = Object.entries({ source, destination, ...given }).map(([name, value]) => [
      name,
      typeof value === 'string' ? value.replace('{folder}', folder) : value,
    ]);
    const sources = { flags: Object.fromEntries(named) as Flags, env: {} };
    return startBodyOf(compileOptions(runOptionTable, sources));
  }

  it('flag: each of the command has its place below', () => {
    assert.deepEqual(Object.keys(flags).sort(), Object.keys(runOptionTable).sort());
  });

  for (const [flag, [outcome, to, from = {}]] of Object.entries(flags)) {
    const what = typeof outcome === 'string' ? outcome : `another sync by ${outcome.refusedFor}`;
    it(`${flag} is ${what}`, () => {
      const [former, given] = [bodyOf(from), bodyOf(to)];
      const differing = differencesOf(given, former).map((text) => text.split(' was ')[0]);
      assert.deepEqual(differing, typeof outcome === 'string' ? [] : [outcome.refusedFor]);
      const isSame = optionsDigest(given) === optionsDigest(former);
      assert.equal(isSame, typeof outcome === 'string', 'every command says which sync it is for');
    });
  }

  it('way to say the same is the same sync', () => {
    const same: readonly (readonly [Flags, Flags])[] = [
      [{ includeNamespaces: 'shop' }, { includeNamespaces: '[{"database": "shop"}]' }],
      [{ includeNamespaces: 'shop' }, { config: '{folder}/filter.yaml' }],
      [{ shardingFile: '{folder}/sharding.yaml' }, { shardingFile: '{folder}/other.json' }],
      [{}, { buildIndexes: 'beforeDataCopy', reversible: false, initialData: 'Absent' }],
    ];
    for (const [one, other] of same)
      assert.equal(optionsDigest(bodyOf(one)), optionsDigest(bodyOf(other)));
  });
});

describe('clustersync run, before it continues the sync that is there,', () => {
  const { signal } = new AbortController();
  const failure = new SyncError('OplogRolledOver', 'too late');
  const different = new SyncError(
    'DifferentSync',
    'the sync was started with different options: x',
  );
  const body = {} as StartBody;

  function found(progress: Readonly<Record<string, unknown>>): SyncProgress {
    return syncOf({ state: 'RUNNING', ...progress });
  }

  function instances(ready: SyncProgress | SyncError, refusal?: SyncError) {
    return {
      ready: async () => {
        return ready instanceof SyncError
          ? await Promise.reject(ready)
          : await Promise.resolve(ready);
      },
      preflight: async () => {
        if (refusal) await Promise.reject(refusal);
      },
    };
  }

  it('names what differs rather than the failure of another sync', async () => {
    const look = async (refusal?: SyncError) =>
      await lookAtSync({ instances: instances(failure, refusal), body, signal });
    await assert.rejects(look(different), different);
    await assert.rejects(look(), failure);
    await assert.rejects(look(failure), failure);
    await assert.rejects(look(new SyncError('ClusterUnreachable', 'not now')), failure);
  });

  it('makes sure that it is its own, and was not reversed since it was compared', async () => {
    const ask = async (progress: SyncProgress, refusal?: SyncError) => {
      await requireOwnSync({ instances: instances(progress, refusal), body, signal }, progress);
    };
    for (const reversals of [0, null, undefined]) await ask(found({ reversals }));
    const reversed = { name: 'InvalidStateTransition', message: /has been reversed/ };
    for (const reversals of [1, 2]) await assert.rejects(ask(found({ reversals })), reversed);
    const mapping = {
      directionMapping: { Source: 'cluster1: new:1', Destination: 'cluster0: old:1' },
    };
    await assert.rejects(ask(found(mapping)), reversed);
    await assert.rejects(ask(found({ reversals: 2 }), different), different);
  });

  it('gives its limits to a sync that another command has begun, even if an instance has not been started yet', async () => {
    const limits = { maxChangesPerSecond: 7 };
    const begin = async (states: readonly string[], given: StartBody): Promise<string[]> => {
      const calls: string[] = [];
      const called = (name: string) => async () => {
        calls.push(name);
        await Promise.resolve();
      };
      const progress = syncOf(...states.map((state) => ({ state })));
      const target = { start: called('start'), limits: called('limits') };
      await beginSync({ instances: target, body: given, signal }, progress);
      return calls;
    };
    const limited = { ...body, limits };
    assert.deepEqual(await begin(['IDLE', 'IDLE'], limited), ['start']);
    assert.deepEqual(await begin(['RUNNING', 'IDLE'], limited), ['start', 'limits']);
    assert.deepEqual(await begin(['RUNNING', 'PAUSED'], limited), ['limits']);
    assert.deepEqual(await begin(['RUNNING', 'IDLE'], body), ['start']);
    assert.deepEqual(await begin(['COMMITTED'], limited), []);
  });
});
