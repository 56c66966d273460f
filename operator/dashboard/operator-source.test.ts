import assert from 'node:assert/strict';
import type { EventView } from '../../dashboard/api/sync-view.ts';
import type { ClusterSync, ClusterSyncStatus } from '../api/clustersync.ts';
import type { SyncVerification } from '../api/sync-verification.ts';
import { clusterSync } from '../clustersync/testing/worlds.ts';
import type { Event } from '../kube/builtin-resources.ts';
import type { KubeClient, Selection } from '../kube/client.ts';
import { objectKey, type KubeObject } from '../kube/resource.ts';
import { LatestStatuses } from '../operand/latest-statuses.ts';
import type { ObjectLookup } from '../operand/object-cache.ts';
import type { OperandStore } from '../operand/operand-store.ts';
import { verification } from '../verification/testing/worlds.ts';
import { OperatorSource, type OperatorSourceOptions } from './operator-source.ts';

const { signal } = new AbortController();
const key = 'shop/orders';

function lookup<T extends KubeObject>(...objects: T[]): ObjectLookup<T> {
  return {
    get: (wanted) => objects.find(({ metadata }) => objectKey(metadata) === wanted),
    list: () => objects,
  };
}

/** An operator that watches everything, with these parts. */
function sourceOf(parts: Partial<OperatorSourceOptions> = {}): OperatorSource {
  return new OperatorSource({
    client: { list: () => Promise.resolve({ items: [] }) } as unknown as KubeClient,
    clusterSyncs: lookup(clusterSync()),
    syncVerifications: lookup(),
    latest: new LatestStatuses(),
    store: { pods: () => new Map() } as unknown as OperandStore,
    namespaces: [],
    watched: { isKnown: () => true, unwatched: () => [] },
    isActive: () => true,
    mayWork: () => true,
    ...parts,
  });
}

function verificationOf(name: string, of: string, namespace = 'shop'): SyncVerification {
  const { metadata, ...others } = verification(undefined, { clusterSyncRef: { name: of } });
  return { ...others, metadata: { ...metadata, name, namespace } };
}

const verifications = [
  verificationOf('weekly', 'orders'),
  verificationOf('daily', 'orders'),
  verificationOf('other', 'customers'),
  verificationOf('elsewhere', 'orders', 'test'),
];

describe('the page of an operator', () => {
  it('says where it looks, and what of it may be old', () => {
    const standby = /standby/;
    for (const [isActive, unwatched, staleness] of [
      [true, [], undefined],
      [false, [], standby],
      [true, ['a', 'b'], /^What is shown of a, b may be old/],
      [false, ['a'], /standby.* What is shown of a may be old/],
    ] as const) {
      const watched = { isKnown: () => true, unwatched: () => [...unwatched] };
      const page = sourceOf({ isActive: () => isActive, watched }).page();
      if (staleness === undefined) assert.equal(page.staleness, null);
      else assert.match(page.staleness ?? '', staleness);
    }
    assert.equal(sourceOf().page().scope, 'all namespaces');
    assert.equal(sourceOf({ namespaces: ['a', 'b'] }).page().scope, 'a, b');
  });

  it('names the namespaces with syncs in which another operator works, each once', () => {
    const mayWork = (namespace: string): boolean => namespace === 'own';
    const syncsIn = (...namespaces: string[]): ObjectLookup<ClusterSync> =>
      lookup(
        ...namespaces.map((namespace) => {
          return { ...clusterSync(), metadata: { name: 'orders', namespace } };
        }),
      );
    const noteOf = (syncs: ObjectLookup<ClusterSync>, parts: Partial<OperatorSourceOptions> = {}) =>
      sourceOf({ clusterSyncs: syncs, mayWork, ...parts }).page().staleness;
    assert.equal(noteOf(syncsIn('own')), null);
    assert.equal(
      noteOf(syncsIn('shop', 'own', 'depot', 'shop')),
      'This operator does not work in depot, shop: figures there are as old as the status of each resource.',
    );
    // What is said of the whole page includes them.
    assert.doesNotMatch(noteOf(syncsIn('shop'), { isActive: () => false }) ?? '', /shop/);
    const watched = { isKnown: () => false, unwatched: () => ['the namespace shop'] };
    assert.doesNotMatch(noteOf(syncsIn('shop'), { watched }) ?? '', /does not work/);
  });
});

describe('what an operator shows of ClusterSyncs', () => {
  const newer: ClusterSyncStatus = {
    phase: 'Committed',
    instances: ['0', '1'].map((id) => ({ id, pod: `orders-syncer-${id}`, ready: true })),
  };
  const latest = new LatestStatuses<ClusterSyncStatus>();
  latest.note(clusterSync(), newer);

  it('is their latest status, with the verifications of each by name', () => {
    const customers: ClusterSync = {
      ...clusterSync({}, { phase: 'Pending' }),
      metadata: { name: 'customers', namespace: 'shop', uid: 'other' },
    };
    const source = sourceOf({
      latest,
      clusterSyncs: lookup(clusterSync(), customers),
      syncVerifications: lookup(...verifications),
    });
    assert.deepEqual(
      source
        .summaries()
        .map(({ name, phase, verifications: its }) => [name, phase, its.map((each) => each.name)]),
      [
        ['orders', 'Committed', ['daily', 'weekly']],
        ['customers', 'Pending', ['other']],
      ],
    );
  });

  it('is the same for the one that is looked at, and nothing where there is none', async () => {
    const source = sourceOf({ latest, syncVerifications: lookup(...verifications) });
    const detail = await source.look(key).read(signal);
    assert.deepEqual(
      detail?.verifications.map(({ name }) => name),
      ['daily', 'weekly'],
    );
    assert.equal(detail.instances.length, 2, 'those of the newer status');
    assert.equal(await source.look('test/orders').read(signal), undefined);
  });

  it('is that of the API where another operator works by now', async () => {
    const mayWork = (namespace: string): boolean => namespace !== 'shop';
    const current = clusterSync({}, { phase: 'Paused', instances: [] });
    const source = sourceOf({ latest, mayWork, clusterSyncs: lookup(current) });
    assert.deepEqual(
      source.summaries().map(({ phase }) => phase),
      ['Paused'],
    );
    assert.deepEqual((await source.look(key).read(signal))?.instances, []);
  });
});

describe('the events that an operator shows', () => {
  const at = (minute: number): string => `2026-01-01T00:0${minute}:00.000000Z`;

  /** What is shown of events, and how they were asked for. */
  async function shown(
    items: readonly object[],
    sync = clusterSync(),
  ): Promise<{ views: readonly EventView[]; asked: readonly Selection[] }> {
    const asked: Selection[] = [];
    const client = {
      list: async (_: unknown, selection: Selection) => {
        asked.push(selection);
        return await Promise.resolve({ items, hasMore: false });
      },
    } as unknown as KubeClient;
    const source = sourceOf({ client, clusterSyncs: lookup(sync) });
    const detail = await source.look(key).read(signal);
    return { views: detail?.events?.shown ?? [], asked };
  }

  it('are those of the object itself, not of an earlier one of its name', async () => {
    const { asked } = await shown([]);
    assert.deepEqual(
      asked.map(({ namespace, fieldSelector }) => [namespace, fieldSelector]),
      [['shop', 'regarding.uid=sync-uid']],
    );
    const { metadata, ...others } = clusterSync();
    const { uid: _, ...anonymous } = metadata;
    assert.deepEqual(await shown([{}], { ...others, metadata: anonymous }), {
      views: [],
      asked: [],
    });
  });

  it('have the time of the last repetition, wherever an API has it', async () => {
    const metadata = { name: 'a', creationTimestamp: at(1) };
    const { views } = await shown([
      { note: 'created', metadata, eventTime: null },
      { note: 'older API', metadata, eventTime: null, deprecatedLastTimestamp: at(2) },
      { note: 'newer API', metadata, eventTime: at(3), deprecatedLastTimestamp: at(2) },
      { note: 'series', metadata, eventTime: at(3), series: { lastObservedTime: at(4), count: 7 } },
      { note: 'none', metadata: {} },
    ]);
    assert.deepEqual(
      views.map(({ note, at: time, count }) => [note, time, count]),
      [
        ['series', at(4), 7],
        ['newer API', at(3), 1],
        ['older API', at(2), 1],
        ['created', at(1), 1],
        ['none', '', 1],
      ],
    );
  });

  it('are shown as far as they say anything', async () => {
    const event: Partial<Event> = {
      metadata: { name: 'a', creationTimestamp: at(1) },
      ...{ type: 'Warning', reason: 'CannotConnect', note: 'no answer' },
      regarding: { kind: 'ClusterSync', name: 'orders' },
    };
    const { views } = await shown([event, { metadata: {} }]);
    assert.deepEqual(views, [
      {
        ...{ type: 'Warning', reason: 'CannotConnect', note: 'no answer', count: 1, at: at(1) },
        about: 'ClusterSync/orders',
      },
      { type: 'Normal', reason: '', note: '', count: 1, at: '', about: '/' },
    ]);
  });
});
