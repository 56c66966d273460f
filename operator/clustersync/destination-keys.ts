import { createHash } from 'node:crypto';
import type { DestinationHost } from './destination-hosts.ts';
import type { DestinationProof } from './destination-proof.ts';

/** The destination that a ClusterSync wants. */
export interface DestinationWish {
  /** By its connection string; empty if that is not known now. */
  readonly named: readonly DestinationHost[];
  /** What its syncers report: they may have read another connection string than the current one. */
  readonly proof: DestinationProof;
}

/** What one Lease is for. */
export interface ClaimKey {
  /** Name of the Lease. */
  readonly lease: string;
  readonly host: string;
  /** Undefined if only the host counts. */
  readonly deployment?: string;
  /** The Lease of the host without a deployment, when others may name the same Service with two labels and so have a Lease for the deployment. */
  readonly isFull: boolean;
}

/** Prefix of the names of destination Leases. */
export const leasePrefix = 'clustersync-destination-';

/** The name of the Lease of a host without a deployment. */
export function hostLease(host: string): string {
  return `${leasePrefix}${createHash('sha256').update(host).digest('hex').slice(0, 20)}`;
}

/** Two ClusterSyncs have the same destination if they have a key in common. */
export function wantedKeys({ named, proof }: DestinationWish): readonly ClaimKey[] {
  return unique([
    ...named.flatMap((host) => keysOf(host, proof.deployments)),
    ...provenKeys({ proof }),
  ]);
}

/** The keys of hosts at which a syncer has logged in. */
export function provenKeys({ proof }: Pick<DestinationWish, 'proof'>): readonly ClaimKey[] {
  return unique(proof.hosts.flatMap((host) => keysOf(host, [host.deployment])));
}

/** The hosts that are only written with two labels. */
export function ambiguousHosts({ named, proof }: DestinationWish): readonly string[] {
  const hosts = [...named, ...proof.hosts];
  const full = new Set(hosts.filter(({ form }) => form === 'full').map(({ host }) => host));
  const ambiguous = hosts.filter(({ host, form }) => form === 'ambiguous' && !full.has(host));
  return [...new Set(ambiguous.map(({ host }) => host))].sort();
}

/** A name of two labels means the deployment that it has led to; before that is known, it means nothing. */
function keysOf(
  { host, form }: DestinationHost,
  deployments: readonly string[],
): readonly ClaimKey[] {
  const alone = { lease: hostLease(host), host, isFull: form === 'full' };
  const beside = deployments.map((deployment) => {
    return { lease: hostLease(`${host} ${deployment}`), host, deployment, isFull: false };
  });
  switch (form) {
    case 'other':
      return [alone];
    case 'full':
      return [alone, ...beside];
    case 'ambiguous':
      return beside;
  }
}

/** In the same order for all, so that one of two competitors is first. */
function unique(keys: readonly ClaimKey[]): readonly ClaimKey[] {
  const byLease = new Map(keys.map((key) => [key.lease, key]));
  return [...byLease.values()].sort((one, other) => (one.lease < other.lease ? -1 : 1));
}
