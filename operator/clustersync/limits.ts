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
 * it is told nothing.
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

/** Why an instance refuses the limits of the spec. */
export function limitsCause(
  clusterSync: ClusterSync,
  views: readonly InstanceView[],
): ConditionCause | undefined {
  const request = requestOf(clusterSync);
  for (const { instance, observation } of views) {
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
