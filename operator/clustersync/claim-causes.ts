import type { ClusterSync } from '../api/clustersync.ts';
import { objectKey } from '../kube/resource.ts';
import { holderKey } from '../leases/lease-holder.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';
import { reasonFor } from '../operand/http-api.ts';
import type { Claim } from './destination-claims.ts';
import type { InstanceView } from './instance-causes.ts';

/** Why a ClusterSync does not have its destination. */
export function claimCause({ metadata }: ClusterSync, claim: Claim): ConditionCause | undefined {
  switch (claim.kind) {
    case 'held':
    case 'open':
    case 'none':
      return undefined;
    case 'broken':
      return {
        reason: 'DestinationClaimBroken',
        message: `an administrator has broken the claim of this ClusterSync to its destination: its pods are deleted, and no commands are sent. Delete it, or have its mark removed from the Lease ${claim.lease} in the operator's namespace`,
        level: 'stalled',
      };
    case 'unreadable':
      return {
        reason: reasonFor('InvalidOption'),
        message: 'the Secret of the destination: the connection string is invalid (mongodb://...)',
        level: 'stalled',
      };
    case 'taken': {
      const key = holderKey(claim.holder);
      // Users of this namespace must not learn about other namespaces.
      const isNeighbour = claim.holder.namespace === metadata.namespace;
      const holder = isNeighbour ? `the ClusterSync ${key}` : 'a ClusterSync of another namespace';
      const message =
        key === objectKey(metadata)
          ? `the destination (${claim.host}) belongs to a previous ClusterSync ${key}: this one starts when the pods of that one are gone`
          : `the destination (${claim.host}) belongs to ${holder}: this one starts when the other is deleted and its pods are gone`;
      return { reason: 'DestinationInUse', message, level: 'warning' };
    }
  }
}

/** The syncer answers, but could not log in to anything that its Secret names. */
export function missingProofCause(
  claim: Claim,
  views: readonly InstanceView[],
): ConditionCause | undefined {
  const isAnswered = views.some(({ observation }) => observation?.answer?.kind === 'progress');
  if (claim.kind !== 'open' || !isAnswered) return undefined;
  const message =
    'no syncer has authenticated yet at any host in the connection string of the destination: no commands are sent until then';
  return { reason: 'DestinationNotProven', message, level: 'waiting' };
}
