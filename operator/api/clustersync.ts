import type { KubeObject, Resource, Wire } from '../kube/resource.ts';
import type {
  ClusterSyncSpec as SpecModel,
  ClusterSyncStatus as StatusModel,
  InstanceStatus as InstanceModel,
  OperandOptions as OptionsModel,
} from './generated/clustersync.ts';

export type ClusterSyncSpec = Wire<SpecModel>;
export type ClusterSyncStatus = Wire<StatusModel>;
export type ClusterSyncPhase = NonNullable<ClusterSyncStatus['phase']>;
/** Forward is from `spec.source` to `spec.destination`. */
export type Direction = ClusterSyncSpec['direction'];
export type InstanceStatus = Wire<InstanceModel>;
/** How the pods of a syncer or a verifier are run. */
export type OperandOptions = Wire<OptionsModel>;

/** A sync of a MongoDB deployment to another one. */
export interface ClusterSync extends KubeObject {
  readonly spec: ClusterSyncSpec;
  readonly status?: ClusterSyncStatus;
}

/** The API group of the custom resources. */
export const group = 'clustersync.dev';

export const clusterSyncs: Resource<ClusterSync> = {
  group,
  version: 'v1alpha1',
  kind: 'ClusterSync',
  plural: 'clustersyncs',
  namespaced: true,
};
