import {
  condition,
  notReady,
  of,
  operator,
  otherOperator,
  syncer,
  times,
  type AlertCase,
} from './alert-series.ts';
import type { Series } from './promql.ts';

const verifier = { ...syncer, pod: 'orders-verifier-0' };

function verification(type: string, values: Series['values']): Series {
  return condition(type, values, { metric: 'clustersync_verification_condition' });
}

function unverified(reason: string, values: Series['values'], target = operator): Series {
  return notReady(reason, values, target, 'clustersync_verification_not_ready_reason');
}

/** What a verifier says for an hour. @param lastMinute - in which something was compared. @param retries - a minute. */
function verifying({ lastMinute = 5, retries = 1 } = {}): Series[] {
  const perMinute = (value: (minute: number) => number) =>
    Array.from({ length: 60 }, (_, minute) => value(minute));
  const compared = perMinute((minute) => Math.min(minute, lastMinute));
  const retried = perMinute((minute) => Math.floor(minute * retries));
  return [
    of(verifier, 'clustersync_verifier_documents_compared', {}, compared),
    of(verifier, 'clustersync_verifier_retries_total', { work: 'documents' }, retried),
  ];
}

/** Of a pod that waits for five minutes before it is started again, and runs for one, for an hour. */
function crashes(waiting: number | null, runs: number | null): (number | null)[] {
  return Array.from({ length: 10 }, () => [...times(5, waiting), runs]).flat();
}

/** When each alert about a SyncVerification fires, and when it does not. */
export const verificationAlertCases: readonly AlertCase[] = [
  {
    alert: 'ClustersyncVerificationStalled',
    what: 'a verification is stalled',
    series: [verification('Stalled', times(10, 1)), unverified('NoVerdict', times(10, 1))],
    firesAtMinute: 5,
    reason: 'NoVerdict',
  },
  {
    alert: 'ClustersyncVerificationStalled',
    what: 'a sync is stalled, and its verification is not',
    series: [condition('Stalled', times(10, 1)), verification('Reconciling', times(10, 1))],
  },
  {
    alert: 'ClustersyncVerificationBlocked',
    what: 'its pod is missing, then does not answer, no matter which operator leads',
    series: [
      unverified('Starting', [1, 1, ...times(28, null)]),
      unverified('SecretNotFound', [null, null, ...times(6, 1), ...times(22, null)]),
      unverified('VerifierUnreachable', [...times(8, null), ...times(22, 1)], otherOperator),
      // The sync is well.
      condition('Ready', times(30, 1)),
    ],
    firesAtMinute: 17,
    reason: 'VerifierUnreachable',
  },
  {
    alert: 'ClustersyncVerificationBlocked',
    what: 'its pod ends again and again, and runs for a minute in between',
    series: [
      unverified('PodCrashLooping', crashes(1, null)),
      unverified('Checking', crashes(null, 1)),
      verification('Stalled', crashes(1, 0)),
    ],
    firesAtMinute: 20,
    reason: 'PodCrashLooping',
  },
  {
    alert: 'ClustersyncVerificationBlocked',
    what: 'its pod was replaced once',
    series: [
      unverified('PodPending', [null, ...times(3, 1), ...times(36, null)]),
      unverified('Checking', [1, ...times(3, null), ...times(36, 1)]),
    ],
  },
  ...['WaitingForInitialCopy', 'Starting', 'Checking', 'Finishing'].map((reason) => ({
    alert: 'ClustersyncVerificationBlocked',
    what: `it has no verdict yet because of ${reason}`,
    series: [unverified(reason, times(30, 1))],
  })),
  {
    alert: 'ClustersyncVerificationBlocked',
    what: 'it is stalled, of which another alert tells',
    series: [unverified('ImagePullFailed', times(30, 1)), verification('Stalled', times(30, 1))],
  },
  {
    alert: 'ClustersyncVerificationBlocked',
    what: 'its sync is not ready',
    series: [notReady('ClusterUnreachable', times(30, 1)), unverified('Checking', times(30, 1))],
  },
  {
    alert: 'ClustersyncVerificationStuck',
    what: 'it retries and compares nothing, no matter which operator leads',
    series: [
      ...verifying(),
      unverified('Checking', [...times(20, 1), ...times(40, null)]),
      unverified('Finishing', [...times(20, null), ...times(40, 1)], otherOperator),
    ],
    firesAtMinute: 34,
    reason: 'Finishing',
    says: /old deployment that was shut down too early/,
  },
  ...[
    { what: 'it waits for changes', series: verifying({ retries: 0 }) },
    { what: 'it retries now and then', series: verifying({ retries: 0.2 }) },
    { what: 'it compares between retries', series: verifying({ lastMinute: 60 }) },
  ].map(({ what, series }) => ({
    alert: 'ClustersyncVerificationStuck',
    what,
    series: [...series, unverified('Checking', times(60, 1))],
  })),
  {
    alert: 'ClustersyncVerificationStuck',
    what: 'its store does not answer, of which another alert tells',
    series: [...verifying(), unverified('ProgressNotLatest', times(60, 1))],
  },
  {
    alert: 'ClustersyncVerificationSecretProblem',
    what: 'a certificate of its own expires, and another namespace has such a problem too',
    series: [
      verification('SecretProblem', times(30, 1)),
      condition('SecretProblem', times(30, 0)),
      of(
        operator,
        'clustersync_condition',
        { namespace: 'elsewhere', name: 'orders', condition: 'SecretProblem' },
        times(30, 1),
      ),
    ],
    firesAtMinute: 15,
  },
  {
    alert: 'ClustersyncVerificationSecretProblem',
    what: 'a ClusterSync says so',
    series: [verification('SecretProblem', times(30, 1)), condition('SecretProblem', times(30, 1))],
  },
  {
    alert: 'ClustersyncVerificationDifferent',
    what: 'the verification has found differences',
    series: [verification('Ready', [0, 0, 1, 1]), verification('Consistent', times(4, 0))],
    firesAtMinute: 2,
  },
  {
    alert: 'ClustersyncVerificationDifferent',
    what: 'it continues, and nothing is known yet',
    series: [verification('Ready', times(4, 0)), verification('Consistent', times(4, 0))],
  },
  {
    alert: 'ClustersyncVerificationDifferent',
    what: 'it has found none',
    series: [verification('Ready', times(4, 1)), verification('Consistent', times(4, 1))],
  },
];
