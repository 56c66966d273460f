import type { KubeObject, Resource, Wire } from '../kube/resource.ts';
import { group } from './clustersync.ts';
import type {
  SyncVerificationSpec as SpecModel,
  SyncVerificationStatus as StatusModel,
} from './generated/syncverification.ts';

export type SyncVerificationSpec = Wire<SpecModel>;
export type SyncVerificationStatus = Wire<StatusModel>;
export type SyncVerificationPhase = NonNullable<SyncVerificationStatus['phase']>;

/** A comparison of source and destination of a ClusterSync. */
export interface SyncVerification extends KubeObject {
  readonly spec: SyncVerificationSpec;
  readonly status?: SyncVerificationStatus;
}

export const syncVerifications: Resource<SyncVerification> = {
  group,
  version: 'v1alpha1',
  kind: 'SyncVerification',
  plural: 'syncverifications',
  namespaced: true,
};
