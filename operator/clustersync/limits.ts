import { isDeepStrictEqual } from 'node:util';
import { optionsDigestHeader } from '../../sync-api/headers.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import { commandErrorCause } from '../operand/api-causes.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';
import { isCurrent, lastOf, maySend } from '../operand/observation.ts';
import type { InstanceCommand } from './commands.ts';
import { isOfOtherSync, wantedDigest } from './identity.ts';
import type { InstanceView } from './instance-causes.ts';

/** The states in which limits change what an instance does, or will do when it is resumed. */
const states = ['RUNNING', 'PAUSED'];

/**
 * The limits of the spec, for every instance that reports others. All instances share what one is given. A tool that reports none has none:
 * it receives no command.
 */
export function limitCommands(
  clusterSync: ClusterSync,
  views: readonly InstanceView[],
  nowMs: number,
): InstanceCommand[] {
  const body = limitsOf(clusterSync);
  const digest = wantedDigest(clusterSync);
  const request = requestOf(clusterSync);
  return views.flatMap(({ instance, observation }): InstanceCommand[] => {
    if (observation?.answer?.kind !== 'progress' || !isCurrent(observation, nowMs)) return [];
    const { progress } = observation.answer;
    const isMissing =
      progress.limits !== undefined && !isDeepStrictEqual(progress.limits.requested, body);
    if (!isMissing || !states.includes(progress.state) || isOfOtherSync(progress, digest))
      return [];
    if (!maySend(observation, 'limits', nowMs, request)) return [];
    const headers = { [optionsDigestHeader]: digest };
    return [{ id: instance.id, command: { name: 'limits', body, headers, request } }];
  });
}

/** Why an instance does not hold the limits of the spec. */
export function limitsCause(
  clusterSync: ClusterSync,
  views: readonly InstanceView[],
): ConditionCause | undefined {
  const request = requestOf(clusterSync);
  const isLimited = Object.keys(limitsOf(clusterSync)).length > 0;
  for (const { instance, observation } of views) {
    if (isLimited && observation?.answer?.kind === 'progress') {
      const { progress } = observation.answer;
      if (progress.limits === undefined && states.includes(progress.state))
        return {
          reason: 'CommandNotSupported',
          message: `the syncer ${instance.id} has no limits: spec.limits have no effect on its sync (use a newer image)`,
          level: 'stalled',
        };
    }
    const command = observation && lastOf(observation, 'limits');
    if (command?.kind !== 'refused' || command.request !== request) continue;
    return commandErrorCause(command.error, `the syncer ${instance.id}`, 'limits');
  }
  return undefined;
}

function limitsOf({ spec }: ClusterSync): NonNullable<ClusterSync['spec']['limits']> {
  return spec.limits ?? {};
}

/** A refusal of other limits says nothing of these. */
function requestOf(clusterSync: ClusterSync): string {
  return JSON.stringify(limitsOf(clusterSync));
}
