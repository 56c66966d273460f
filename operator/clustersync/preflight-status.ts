import { countOf } from '../../service/quantities.ts';
import type { ClusterSync, ClusterSyncStatus } from '../api/clustersync.ts';
import type { ConditionDraft } from '../kube/conditions.ts';
import { apiErrorCause } from '../operand/api-causes.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';
import { reasonFor } from '../operand/http-api.ts';
import type { StatusFinding } from './kept-findings.ts';
import type { CheckRecord, DryRun, Outlook } from './preflight.ts';

/** What the status says about the start. */
export interface PreflightReport {
  readonly dryRun: DryRun;
  readonly outlook: Outlook;
}

type PreflightFields = Pick<ClusterSyncStatus, 'canStart' | 'preflight' | 'preflightCheck'>;

/** The fields of the status. What was found stays until something else is found, or the tool turns out not to check at all. */
export function preflightFields(
  { outlook }: PreflightReport,
  former: ClusterSyncStatus | undefined,
): PreflightFields {
  switch (outlook.kind) {
    case 'found': {
      const { canStart, findings, omitted, time, inputsHash } = outlook;
      return {
        canStart,
        preflight: findings,
        preflightCheck: { time, inputsHash, ...(omitted > 0 && { omittedFindings: omitted }) },
      };
    }
    case 'unsupported':
      return {};
    case 'none':
    case 'asking':
    case 'failed': {
      const { preflight, preflightCheck } = former ?? {};
      return { ...(preflight && { preflight }), ...(preflightCheck && { preflightCheck }) };
    }
  }
}

/** Why a dry run is not ready, if it is not. Without one, the answer to the start says why there is no sync. */
export function dryRunCause(
  clusterSync: ClusterSync,
  { dryRun, outlook }: PreflightReport,
): ConditionCause | undefined {
  if (dryRun === 'found') return { ...foundSync, level: 'stalled' };
  if (dryRun !== 'on') return undefined;
  switch (outlook.kind) {
    case 'none':
      return undefined;
    case 'asking':
      return { ...checking, level: 'waiting' };
    case 'found':
      return outlook.canStart ? undefined : { ...resultOf(outlook), level: 'stalled' };
    case 'unsupported':
      return { ...notSupported(clusterSync), level: 'stalled' };
    case 'failed':
      return { ...failureOf(outlook), level: 'warning' };
  }
}

/** What a dry run says that has found nothing that prevents the start; undefined for any other. */
export function passedDryRun({
  dryRun,
  outlook,
}: PreflightReport): Pick<ConditionCause, 'reason' | 'message'> | undefined {
  if (dryRun !== 'on' || outlook.kind !== 'found' || !outlook.canStart) return undefined;
  const { reason, message } = resultOf(outlook);
  return { reason, message: `${message}; nothing is started while spec.dryRun is true` };
}

/** The condition CanStart; undefined if there is nothing to say. */
export function canStartCondition(
  clusterSync: ClusterSync,
  { dryRun, outlook }: PreflightReport,
): ConditionDraft | undefined {
  const type = 'CanStart';
  if (dryRun === 'begun') return { type, status: 'False', ...begunSync(clusterSync) };
  if (dryRun === 'found') return { type, status: 'False', ...foundSync };
  switch (outlook.kind) {
    case 'none':
      return undefined;
    case 'asking':
      return { type, status: 'Unknown', ...checking };
    case 'found':
      return { type, status: outlook.canStart ? 'True' : 'False', ...resultOf(outlook) };
    case 'unsupported':
      return { type, status: 'Unknown', ...notSupported(clusterSync) };
    case 'failed':
      return { type, status: 'Unknown', ...failureOf(outlook) };
  }
}

const checking = { reason: 'Checking', message: 'the syncer is checking both deployments' };

const foundSync = {
  reason: 'AlreadyStarted',
  message:
    'the destination holds a sync with this spec that has begun before: spec.dryRun keeps the pods from continuing it. Set it to false to continue that sync',
};

function begunSync({ spec, status }: ClusterSync): Pick<ConditionCause, 'reason' | 'message'> {
  const { startOver } = spec;
  const isWaiting = startOver && startOver.token !== status?.startOver?.token;
  const message = `the sync has begun: spec.dryRun has no effect on it${isWaiting ? ', but spec.startOver waits until it is false' : ''}`;
  return { reason: 'AlreadyStarted', message };
}

function notSupported({ spec }: ClusterSync): Pick<ConditionCause, 'reason' | 'message'> {
  const { image } = spec.syncer;
  const tool = image === undefined ? 'this version of the syncer' : `the image ${image}`;
  const message = `${tool} cannot check a start: it does not serve /api/v1/check. What a start would find is unknown`;
  return { reason: 'CheckNotSupported', message };
}

function failureOf({
  error,
}: Extract<Outlook, { readonly kind: 'failed' }>): Pick<ConditionCause, 'reason' | 'message'> {
  const { reason, message } = apiErrorCause(error, 'the check before the start failed with');
  return { reason, message };
}

/** The first blocker, or that there is none. */
function resultOf({
  canStart,
  findings,
  omitted,
}: CheckRecord): Pick<ConditionCause, 'reason' | 'message'> {
  if (canStart)
    return {
      reason: 'Checked',
      message: `a start would be accepted: ${countsOf(findings, omitted) || 'nothing was found'}`,
    };
  const [first, ...others] = findings.filter(({ severity }) => severity === 'Blocker');
  if (!first)
    return {
      reason: reasonFor(''),
      message: 'a start would be refused: the tool does not say why',
    };
  const { name, message, action } = first;
  const what = `a start would be refused with ${name}: ${message}${action === undefined ? '' : ` (${action})`}`;
  const more =
    others.length === 0 ? '' : `; ${countOf(others.length, 'more blocker')} in status.preflight`;
  return { reason: reasonFor(name), message: `${what}${more}` };
}

function countsOf(findings: readonly StatusFinding[], omitted: number): string {
  const of = (severity: StatusFinding['severity']): number =>
    findings.filter((finding) => finding.severity === severity).length;
  const [warnings, advice] = [of('Warning'), of('Advice')];
  const counts = [
    ...(warnings > 0 ? [countOf(warnings, 'warning')] : []),
    ...(advice > 0 ? [countOf(advice, 'piece of advice', 'pieces of advice')] : []),
    ...(omitted > 0 ? [`${omitted} more without room there`] : []),
  ];
  return counts.length === 0 ? '' : `${counts.join(', ')} in status.preflight`;
}
