import assert from 'node:assert/strict';
import { createLogger } from '../../service/logger.ts';
import type { InformerStanding } from '../kube/informer.ts';
import { KubeError } from '../kube/kube-error.ts';
import { WatchedNamespaces, type FollowedCache } from './watched-namespaces.ts';

const refusal = new KubeError({
  request: 'GET /api/v1/namespaces/b/pods',
  statusCode: 403,
  reason: 'Forbidden',
  message: 'the account may not',
});

/** A cache of one kind, whose standing is set. */
class Cache implements FollowedCache {
  readonly #standings = new Map<string | undefined, InformerStanding>();
  readonly #listeners = new Map<string | undefined, () => void>();

  standing = (namespace: string | undefined): InformerStanding =>
    this.#standings.get(namespace) ?? { hasSynced: false, behindMs: 0, refusal: undefined };

  onStanding = (namespace: string | undefined, listener: () => void): void => {
    this.#listeners.set(namespace, listener);
  };

  set(namespace: string | undefined, news: Partial<InformerStanding>): void {
    this.#standings.set(namespace, { ...this.standing(namespace), ...news });
    this.#listeners.get(namespace)?.();
  }
}

describe('the namespaces of an operator', () => {
  let pods: Cache;
  let syncs: Cache;
  let leases: Cache;
  let lines: string[];

  function watch(...namespaces: readonly string[]): WatchedNamespaces {
    [pods, syncs, leases] = [new Cache(), new Cache(), new Cache()];
    lines = [];
    const logger = createLogger('test', 'info', (line) => lines.push(line));
    const caches = [pods, syncs];
    const all = { caches, namespaces, leases, leaseNamespace: 'own', logger };
    return new WatchedNamespaces(all);
  }

  function fill(...namespaces: readonly (string | undefined)[]): void {
    for (const namespace of namespaces) {
      pods.set(namespace, { hasSynced: true });
      syncs.set(namespace, { hasSynced: true });
    }
    leases.set('own', { hasSynced: true });
  }

  function logged(part: string): number {
    return lines.filter((line) => line.includes(part)).length;
  }

  it('are known one by one, each when all of it has been read', () => {
    const watched = watch('a', 'b');
    let changes = 0;
    watched.onChange(() => changes++);
    pods.set('a', { hasSynced: true });
    assert.equal(watched.isKnown('a'), false);
    assert.equal(watched.isUnseen('a'), true);
    syncs.set('a', { hasSynced: true });
    assert.equal(changes, 1);
    assert.deepEqual([watched.isKnown('a'), watched.isUnseen('a')], [true, false]);
    assert.equal(watched.isKnown('b'), false);
    assert.match(watched.whyNotReady() ?? '', /not up to date: .*namespace own.*namespace b/);
    fill('b');
    assert.equal(watched.whyNotReady(), undefined);
    assert.deepEqual([watched.isKnown('c'), watched.isUnseen('c')], [false, false]);
  });

  it('are unknown while anything of them is refused: warned of once, and no reason not to be ready', () => {
    const watched = watch('a', 'b');
    fill('a', 'b');
    pods.set('b', { refusal });
    syncs.set('b', { refusal, behindMs: 600_000 });
    pods.set('b', { refusal: undefined });
    assert.equal(watched.isKnown('b'), false);
    assert.equal(watched.isUnseen('b'), true);
    assert.deepEqual(Object.fromEntries(watched.named()), { a: true, b: false });
    assert.equal(watched.whyNotReady(), undefined);
    assert.equal(logged('cannot watch the namespace b'), 1);
    assert.equal(logged('403 Forbidden: the account may not'), 1);
    syncs.set('b', { refusal: undefined, behindMs: 0 });
    assert.equal(watched.isKnown('b'), true);
    assert.equal(logged('watches the namespace b again'), 1);
  });

  it('make the operator unready if none can be watched, which says why without the account', () => {
    const watched = watch('a', 'b');
    leases.set('own', { hasSynced: true });
    pods.set('a', { refusal });
    syncs.set('b', { refusal });
    const why =
      'no namespace can be watched: the namespace a: 403 Forbidden, the namespace b: 403 Forbidden';
    assert.equal(watched.whyNotReady(), why);
    assert.equal(logged(`not ready: ${why}`), 1);
  });

  it('leave it ready while none has been refused for long: an API server that starts may do that', () => {
    const watched = watch('a');
    fill('a');
    leases.set('own', { refusal, behindMs: 14_999 });
    pods.set('a', { refusal, behindMs: 14_999 });
    assert.equal(watched.whyNotReady(), undefined);
    assert.equal(watched.isKnown('a'), false);
    assert.deepEqual(watched.unwatched(), ['the namespace a']);
    pods.set('a', { behindMs: 15_000 });
    assert.match(watched.whyNotReady() ?? '', /^no namespace can be watched/);
    leases.set('own', { behindMs: 15_000 });
    assert.match(watched.whyNotReady() ?? '', /^the Leases of the namespace own/);
  });

  it('make it unready if one cannot be followed for another reason', () => {
    const watched = watch('a', 'b');
    fill('a', 'b');
    pods.set('b', { behindMs: 14_999 });
    assert.equal(watched.whyNotReady(), undefined);
    pods.set('b', { behindMs: 15_000 });
    assert.equal(watched.whyNotReady(), 'the caches are not up to date: the namespace b');
    assert.equal(watched.isKnown('b'), true);
  });

  it('do not help where its own Leases are refused', () => {
    const watched = watch('a');
    fill('a');
    leases.set('own', { refusal, behindMs: 15_000 });
    assert.match(watched.whyNotReady() ?? '', /the Leases of the namespace own .* 403 Forbidden/);
    assert.equal(logged('cannot watch the Leases of the namespace own'), 1);
  });

  it('may be all', () => {
    const watched = watch();
    assert.equal(watched.isUnseen('any'), true);
    fill(undefined);
    assert.equal(watched.isKnown('any'), true);
    assert.deepEqual([...watched.named()], []);
    assert.deepEqual(watched.unwatched(), []);
    syncs.set(undefined, { refusal, behindMs: 15_000 });
    assert.deepEqual(watched.unwatched(), ['all namespaces']);
    assert.match(watched.whyNotReady() ?? '', /all namespaces: 403 Forbidden/);
  });
});
