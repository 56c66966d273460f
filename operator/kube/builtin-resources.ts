import type {
  EventsV1Event,
  V1ConfigMap,
  V1Lease,
  V1NetworkPolicy,
  V1Node,
  V1Pod,
  V1Secret,
  V1Service,
  V1StatefulSet,
} from '@kubernetes/client-node';
import type { KubeObject, Modelled, Resource } from './resource.ts';

export type ConfigMap = Modelled<V1ConfigMap>;
export type Event = Modelled<EventsV1Event>;
export type Lease = Modelled<V1Lease>;
export type NetworkPolicy = Modelled<V1NetworkPolicy>;
export type Node = Modelled<V1Node>;
export type Pod = Modelled<V1Pod>;
export type Secret = Modelled<V1Secret>;
export type Service = Modelled<V1Service>;
export type StatefulSet = Modelled<V1StatefulSet>;

const namespacedV1 = { version: 'v1', namespaced: true } as const;

export const configMaps: Resource<ConfigMap> = {
  ...namespacedV1,
  group: '',
  kind: 'ConfigMap',
  plural: 'configmaps',
};
export const events: Resource<Event> = {
  ...namespacedV1,
  group: 'events.k8s.io',
  kind: 'Event',
  plural: 'events',
};
export const leases: Resource<Lease> = {
  ...namespacedV1,
  group: 'coordination.k8s.io',
  kind: 'Lease',
  plural: 'leases',
};
export const networkPolicies: Resource<NetworkPolicy> = {
  ...namespacedV1,
  group: 'networking.k8s.io',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
};
export const pods: Resource<Pod> = { ...namespacedV1, group: '', kind: 'Pod', plural: 'pods' };
export const secrets: Resource<Secret> = {
  ...namespacedV1,
  group: '',
  kind: 'Secret',
  plural: 'secrets',
};
export const services: Resource<Service> = {
  ...namespacedV1,
  group: '',
  kind: 'Service',
  plural: 'services',
};
export const statefulSets: Resource<StatefulSet> = {
  ...namespacedV1,
  group: 'apps',
  kind: 'StatefulSet',
  plural: 'statefulsets',
};

/** Cluster-scoped objects that contain all others. */
export const namespaces: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
};
export const nodes: Resource<Node> = {
  group: '',
  version: 'v1',
  kind: 'Node',
  plural: 'nodes',
  namespaced: false,
};
