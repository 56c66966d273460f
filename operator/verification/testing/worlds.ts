import { overlayFields } from '../../operand/pod-template.ts';
import assert from 'node:assert/strict';
import type {
  SyncVerification,
  SyncVerificationSpec,
  SyncVerificationStatus,
} from '../../api/sync-verification.ts';
import type { StatefulSet } from '../../kube/builtin-resources.ts';
import { findCondition } from '../../kube/conditions.ts';
import type { Observation } from '../../operand/observation.ts';
import { progressAnswer } from '../../operand/operand-api.ts';
import { givenSecrets } from '../../operand/testing/given-secrets.ts';
import { nowMs, runningOperandPod, runningProcess } from '../../operand/testing/running-pod.ts';
import { clusterSyncIn } from '../../testing/clustersyncs.ts';
import { decide, type Decision, type World } from '../decide.ts';
import { readProgress, type VerifierCommand, type VerifierProgress } from '../verifier-client.ts';

/** The token of the verifier. */
export const statefulSet: StatefulSet = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'check-verifier', namespace: 'shop', uid: 'set-uid' },
};

/** A verification as a user creates it. */
export function verification(
  status?: SyncVerificationStatus,
  spec: Partial<SyncVerificationSpec> = {},
  generation = 1,
): SyncVerification {
  return {
    apiVersion: 'clustersync.dev/v1alpha1',
    kind: 'SyncVerification',
    metadata: { name: 'check', namespace: 'shop', uid: 'check-uid', generation },
    spec: {
      clusterSyncRef: { name: 'orders' },
      comparison: 'Bytes',
      parallelism: 3,
      verifier: { resources: {}, logLevel: 'info' },
      ...spec,
    },
    ...(status && { status }),
  };
}

const changing = clusterSyncIn('changes');
export const committed = clusterSyncIn('committed');

/** What exists before a verifier. */
export function world(parts: Partial<World> = {}): World {
  return {
    nowMs,
    settings: {
      image: 'example.dev/clustersync:1',
      imagePullPolicy: 'IfNotPresent',
      images: ['example.dev'],
      podFields: overlayFields.filter((path) => path !== 'spec.hostAliases'),
    },
    clusterSync: changing,
    ...givenSecrets,
    statefulSet: undefined,
    pod: undefined,
    observation: undefined,
    ...parts,
  };
}

/** What exists while a verifier runs. @param attempt - of the pod. */
export function running(
  progress: object | undefined,
  parts: Partial<World> = {},
  observation: Partial<Observation<VerifierProgress, VerifierCommand>> = {},
  attempt = 1,
): World {
  const answer =
    progress && progressAnswer({ body: { progress }, optionsDigest: undefined }, readProgress);
  assert.notEqual(answer?.kind, 'unreachable');
  return world({
    statefulSet,
    pod: runningOperandPod('verifier', 'check-verifier-0', [`--attempt=${attempt}`]),
    observation: {
      process: runningProcess,
      answer: answer?.kind === 'unreachable' ? undefined : answer,
      askedMs: nowMs - 100,
      unreachable: undefined,
      command: undefined,
      ...observation,
    },
    ...parts,
  });
}

/** Phase, status and reason of the condition Ready, the rest of the triple that is present, Complete and Consistent. */
export function phaseAndConditions({ status }: Decision): string {
  const ready = findCondition(status?.conditions, 'Ready');
  const others = ['Reconciling', 'Stalled'].filter((type) =>
    findCondition(status?.conditions, type),
  );
  const [complete, equal] = ['Complete', 'Consistent'].map(
    (type) => findCondition(status?.conditions, type)?.status,
  );
  const milestones = `${complete ?? ''}/${equal ?? ''}`;
  return [status?.phase, ready?.status, ready?.reason, ...others, milestones].join(' ');
}

/** The progress of a verifier, from stage to stage. */
export const idle = {
  phase: 'idle',
  error: null,
  verdict: null,
  verificationStatus: { totalTasks: 0 },
};
export const checking = { ...idle, phase: 'check', verificationStatus: { totalTasks: 5 } };
export const counts = {
  totalTasks: 5,
  completedTasks: 5,
  failedTasks: 0,
  metadataMismatchTasks: 0,
};
export const equal = { ...idle, verdict: 'equal', verificationStatus: counts };
export const different = {
  ...equal,
  verdict: 'different',
  verificationStatus: { ...counts, failedTasks: 2 },
};

/** The decisions about one verification, one world after the other. */
export function follow(
  worlds: readonly World[],
  spec: Partial<SyncVerificationSpec> = {},
): Decision[] {
  let status: SyncVerificationStatus | undefined;
  return worlds.map((each) => {
    const decision = decide(verification(status, spec), each);
    status = decision.status ?? status;
    return decision;
  });
}
