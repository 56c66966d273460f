import assert from 'node:assert/strict';
import type { ClusterSync } from '../../api/clustersync.ts';
import type { Lease, Pod, StatefulSet } from '../../kube/builtin-resources.ts';
import { controllerReference } from '../../kube/owner.ts';
import { objectKey } from '../../kube/resource.ts';
import { heldBy, holderOf, readHolder, type LeaseHolder } from '../../leases/lease-holder.ts';
import { breakAnnotation, DestinationClaims, type Claim } from '../destination-claims.ts';
import type { DestinationHost } from '../destination-hosts.ts';
import { hostLease, type DestinationWish } from '../destination-keys.ts';
import { hostAnnotation, Leases } from './leases.ts';
import { clusterSync } from './worlds.ts';

const { signal } = new AbortController();

/** A ClusterSync in its own namespace, and which of its objects exist. */
export interface Tenant {
  readonly sync: ClusterSync;
  /** See {@link hostOf}. */
  names: readonly string[];
  readonly proven: Set<string>;
  /** Where its connection string leads. */
  deployment: string;
  /** Whether the operator knows that. */
  isLed: boolean;
  /** Where it has ever logged in. */
  readonly everProven: Set<string>;
  isThere: boolean;
  /** Of its StatefulSet. */
  replicas: 0 | 1;
  hasPods: boolean;
  /** Whether its StatefulSet is left once the ClusterSync and its pods are gone. */
  hasSet: boolean;
}

/** Claims of ClusterSyncs, with the objects that show who still exists. */
export class Scene {
  readonly leases: Leases;
  readonly tenants: Tenant[] = [];
  /** Namespaces that cannot be read now. */
  readonly unseen = new Set<string>();
  /** In addition to those that tenants properly have. */
  readonly otherPods: Pod[] = [];
  claims: DestinationClaims;

  constructor(
    passing: () => Promise<unknown> = async () => {
      await Promise.resolve();
    },
  ) {
    this.leases = new Leases(passing);
    this.leases.onHandover = (former) => {
      const uid = readHolder(former)?.uid;
      const holder = this.tenants.find(({ sync }) => sync.metadata.uid === uid);
      assert.ok(holder && !holder.hasPods, 'the pods of the previous holder are there');
    };
    this.claims = this.#newClaims();
  }

  add(...names: readonly string[]): Tenant {
    const n = this.tenants.length;
    const sync = clusterSync();
    const metadata = { ...sync.metadata, namespace: `tenant-${n}`, uid: `uid-${n}` };
    const tenant: Tenant = {
      ...{ sync: { ...sync, metadata }, names: [...names].sort() },
      ...{ proven: new Set(), everProven: new Set(), deployment: 'one', isLed: false },
      ...{ isThere: true, replicas: 1, hasPods: true, hasSet: false },
    };
    this.tenants.push(tenant);
    return tenant;
  }

  logIn(tenant: Tenant, ...hosts: readonly string[]): void {
    tenant.isLed ||= hosts.length > 0;
    for (const host of hosts) {
      tenant.proven.add(host);
      tenant.everProven.add(hostOf(host).host);
    }
  }

  async pass(tenant: Tenant): Promise<Claim> {
    const claim = await this.claims.claim(tenant.sync, wishOf(tenant), signal);
    // As the reconciler does.
    tenant.replicas = claim.kind === 'open' || claim.kind === 'held' ? 1 : 0;
    return claim;
  }

  /** The pods end, and start again if they should exist. */
  endPods(tenant: Tenant): void {
    tenant.hasPods = false;
    tenant.proven.clear();
  }

  runPods(tenant: Tenant): void {
    tenant.hasPods ||= tenant.isThere && tenant.replicas === 1;
  }

  break(tenant: Tenant): void {
    for (const { metadata, spec } of this.leases.list()) {
      if (spec?.holderIdentity !== keyOf(tenant)) continue;
      this.leases.annotate(metadata.name, { [breakAnnotation]: spec.holderIdentity });
    }
  }

  hostsOf({ sync }: Tenant): string[] {
    return this.leases.hostsOf(sync.metadata.uid ?? '');
  }

  leasesOf({ sync }: Tenant): readonly Lease[] {
    return this.leases.list().filter((lease) => readHolder(lease)?.uid === sync.metadata.uid);
  }

  /** A ClusterSync whose claim is broken keeps the Lease until another one proves that host. Without pods the Lease is of no use to it. */
  keptLeasesOf(tenant: Tenant): readonly string[] {
    const kept = this.leasesOf(tenant).filter(
      ({ metadata }) => tenant.hasPods || metadata.annotations?.[breakAnnotation] !== keyOf(tenant),
    );
    return kept.map(({ metadata }) => metadata.name);
  }

  restartOperator(): void {
    this.claims = this.#newClaims();
    for (const tenant of this.tenants) tenant.isLed = tenant.proven.size > 0;
  }

  /** A Lease of a previous version. */
  async holdOld(tenant: Tenant, host: string): Promise<void> {
    const { spec, annotations } = heldBy(holderOf(tenant.sync));
    const draft = { spec, annotations: { ...annotations, [hostAnnotation]: host } };
    assert.ok(await this.leases.put(hostLease(host), draft));
  }

  #newClaims(): DestinationClaims {
    const isOf = ({ sync }: Tenant, { uid }: LeaseHolder): boolean => sync.metadata.uid === uid;
    return new DestinationClaims(this.leases, {
      isUnseen: ({ namespace }) => this.unseen.has(namespace),
      isGone: (holder) =>
        !this.unseen.has(holder.namespace) &&
        !this.tenants.some((each) => each.isThere && isOf(each, holder)),
      statefulSets: {
        get: (key) => setOf(this.tenants.find((each) => `${keyOf(each)}-syncer` === key)),
        list: (): StatefulSet[] => [],
      },
      pods: {
        get: () => undefined,
        list: () => [
          ...this.tenants.filter(({ hasPods }) => hasPods).map((each) => podOf(each)),
          ...this.otherPods,
        ],
      },
    });
  }
}

/** `db.shop?` is written with two labels, and `db.shop!` is the same Service in full. */
function hostOf(name: string): DestinationHost {
  const host = name.replace(/[?!]$/, '');
  if (name === host) return { host, form: 'other' };
  return { host, form: name.endsWith('?') ? 'ambiguous' : 'full' };
}

/** What it wants, as far as the operator knows. */
export function wishOf({ names, proven, deployment, isLed }: Tenant): DestinationWish {
  const hosts = [...proven].map((name) => ({ ...hostOf(name), deployment }));
  return { named: names.map(hostOf), proof: { hosts, deployments: isLed ? [deployment] : [] } };
}

/** The wish of a ClusterSync whose Secret is missing, and whose syncer is silent. */
export const noWish: DestinationWish = { named: [], proof: { hosts: [], deployments: [] } };

/** Its key. */
export function keyOf({ sync }: Tenant): string {
  return objectKey(sync.metadata);
}

/** Once it is gone, the garbage collector deletes the StatefulSet and its pods; see {@link Tenant.hasSet}. */
function setOf(tenant: Tenant | undefined): StatefulSet | undefined {
  if (!tenant || !(tenant.isThere || tenant.hasPods || tenant.hasSet)) return undefined;
  const metadata = { name: 'orders-syncer', ownerReferences: [controllerReference(tenant.sync)] };
  const spec = { replicas: tenant.replicas, selector: {}, template: {}, serviceName: '' };
  return { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata, spec };
}

/** A pod of a ClusterSync, as created by its StatefulSet. */
export function podOf({ sync: { metadata } }: Pick<Tenant, 'sync'>): Pod {
  const annotations = { 'clustersync.dev/owner': `ClusterSync/${metadata.name}` };
  const { namespace = '' } = metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'orders-syncer-0', namespace, annotations },
  };
}
