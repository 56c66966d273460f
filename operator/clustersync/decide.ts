import type { ClusterSync, ClusterSyncStatus } from '../api/clustersync.ts';
import { apiTrust, serverNameOf, targetOf, type ApiTrust } from '../operand/api-trust.ts';
import type { MonitorTarget } from '../operand/monitor.ts';
import { dueMs } from '../operand/observation.ts';
import { missingSecret, secretProblem, unusableForPods } from '../operand/operand-secrets.ts';
import { optionsCause } from '../operand/option-rules.ts';
import {
  orWithItsSecret,
  runningPods,
  withOverdueEnd,
  type PodState,
} from '../operand/pod-state.ts';
import { gravestCause } from '../operand/condition-cause.ts';
import { recordedChange, secretsRecordOf } from '../operand/secrets-record.ts';
import { unlessUnstartable } from '../operand/workload.ts';
import { planCommit, stepBeforePublishing } from '../commit/plan.ts';
import { untilOpenMs } from '../commit/window.ts';
import { commitFacts, commitStatus, isHoldOfCommit, verificationDoubt } from './commit-facts.ts';
import { assess, asIdle } from './assessment.ts';
import { isAtRest, isCommittedIn, isDeletedInForeground, isLetGo } from './on-record.ts';
import { wantedDigest } from './identity.ts';
import { claimCause, missingProofCause } from './claim-causes.ts';
import { commandsOf, resetCommands, type CommandInput, type InstanceCommand } from './commands.ts';
import { eventsOf } from './events.ts';
import { dryRunOf, isDry, isHeldBack, planStart, withoutCommand } from './preflight.ts';
import { dryRunCause } from './preflight-status.ts';
import type { Decision, World } from './decision.ts';
import {
  instancesOf,
  isMadeContested,
  syncerName,
  syncerPodState,
  syncerObjects,
  syncerPort,
} from './resources.ts';
import type { InstanceView } from './instance-causes.ts';
import { planLostPod, replacementText, type LostPodPlan } from './lost-pods.ts';
import { limitCommands, limitsCause } from './limits.ts';
import {
  asBegun,
  assessedForReset,
  finalizersWanted,
  isEndedBefore,
  planReset,
  withReset,
  type ResetPlan,
} from './reset.ts';
import {
  assessedForRepair,
  planRepair,
  repairCommands,
  withRepair,
  type RepairPlan,
} from './repair.ts';
import { findingOf, isSourceAsked } from './source.ts';
import type { SourceView } from './source-topologies.ts';
import { statusOf } from './status.ts';

/** Secrets, and whatever an event might have missed, are read again after this time. */
const resyncMs = 15_000;
/** The same once everything is done: less can be missed, and nobody waits for it. */
const committedResyncMs = 300_000;
const waitingMs = 3_000;
/** What a commit waits for is not watched. */
const commitMs = 1_000;
/** Without pods, only events of the operator's own objects matter. */
const restMs = 600_000;

const noTargets: ReadonlyMap<string, MonitorTarget> = new Map();

/** Decides what to do for a ClusterSync. Depends only on its arguments. */
export function decide(given: ClusterSync, world: World): Decision {
  const { nowMs, pods, observations, settings, rejection } = world;
  const clusterSync = asBegun(given, observations);
  const instances = instancesOf(clusterSync);
  const isSourceKnown = clusterSync.status?.source !== undefined;
  const missing = missingSecret(world);
  const finding = findingOf(clusterSync.status?.source, world.sourceView, clusterSync.spec);
  // What determines the number of pods is stored before they are created, so that another operator can continue from there.
  const isSourceNew = finding.source !== undefined && !isSourceKnown;
  const unclaimed = claimCause(clusterSync, world.claim);
  const isHandsOff =
    clusterSync.spec.suspend ||
    isLetGo(clusterSync) ||
    isDeletedInForeground(clusterSync) ||
    unclaimed !== undefined;
  const isResting = isAtRest(clusterSync);
  const isToHavePods =
    !isResting && world.statefulSet !== undefined && world.statefulSet.spec?.replicas !== 0;
  const unusableSecret = isToHavePods ? unusableForPods(world) : undefined;
  const plans: LostPodPlan[] = [];
  const views = instances.map((instance): InstanceView => {
    const pod = pods.get(instance.podName);
    const lost: LostPodPlan =
      pod && !isHandsOff && !isResting ? planLostPod(pod, clusterSync, world) : { kind: 'none' };
    plans.push(lost);
    const overdue = pod && withOverdueEnd(syncerPodState(pod, instances, world.token), pod, nowMs);
    const state = overdue && withReplacement(orWithItsSecret(overdue, unusableSecret), lost);
    const observation = isSourceKnown ? observations.get(instance.id) : silenceOf(world.sourceView);
    return {
      instance,
      pod: state,
      // The status keeps what a previous process said; it does not count as an answer of this one.
      observation: observation?.process === state?.process ? observation : undefined,
      refusal: world.podRefusals?.get(instance.podName),
      unusableSecret,
    };
  });
  const unproven = missingProofCause(world.claim, views);
  const isUnclaimed = unclaimed !== undefined || world.claim.kind === 'open';
  const isContested =
    world.claim.kind === 'open' && (world.claim.isContested ?? isMadeContested(world.statefulSet));
  const isClaimed =
    world.claim.kind === 'held' || (world.claim.kind === 'unreadable' && world.claim.isHeld);
  const isLost = world.claim.kind === 'taken' || world.claim.kind === 'broken';
  const trust = isResting ? ({ kind: 'plain' } as const) : trustOf(clusterSync, world);
  const untrusted = trust.kind === 'unknown' ? trust.cause : undefined;
  const disallowed = optionsCause(clusterSync.spec.syncer, settings, 'syncer');
  const blocker =
    rejection ??
    unclaimed ??
    disallowed ??
    // Running pods have already read their Secrets, and each of the others says what it lacks.
    (world.statefulSet ? undefined : missing) ??
    untrusted ??
    unproven;
  const dryRun = dryRunOf(clusterSync, { views, statefulSet: world.statefulSet });
  const heldBack = isHeldBack(dryRun, world.statefulSet);
  const shown = isDry(dryRun) ? views.map(withoutCommand) : views;
  const input = {
    ...{ clusterSync, nowMs, finding, instances: shown, blocker },
    secretsChangedAt: recordedChange(world.statefulSet),
    secretProblem: isToHavePods
      ? secretProblem(world, nowMs, runningPods(views.map(({ pod }) => pod)))
      : undefined,
  };
  const assessed = assess(input);
  const reset = planReset(clusterSync, {
    ...{ views, assessment: assessed, isUnclaimed, nowMs },
    isOfOther: isLost,
    isMade: world.statefulSet !== undefined,
    isNothingStarted: heldBack,
  });
  const repair = planRepair(clusterSync, {
    ...{ views, assessment: assessed, reset, nowMs },
    isBlocked: !isClaimed || blocker !== undefined || finding.cause !== undefined,
    isDry: isDry(dryRun),
  });
  const idle = dryRun === 'found' ? asIdle(assessed) : assessed;
  const assessment = assessedForRepair(assessedForReset(idle, reset), repair);
  const facts = commitFacts(
    {
      ...{ ...input, assessment, isUnclaimed },
      isToBeginAgain:
        reset.kind === 'under way' || reset.kind === 'done' || repair.kind === 'under way',
      isSyncEnded: reset.kind === 'done' || isEndedBefore(clusterSync),
    },
    world.commit,
  );
  const plan = clusterSync.spec.suspend ? undefined : planCommit(facts);
  const finalizers =
    clusterSync.spec.suspend && clusterSync.spec.onDelete !== 'Keep'
      ? undefined
      : finalizersWanted(clusterSync, reset);
  const processes = isResting ? noTargets : targetsOf(views, world.token, trust);
  const { commit, state } = clusterSync.spec;
  const isCommitDue =
    commit.mode === 'Automatic' || isHoldOfCommit(facts)
      ? plan?.step.kind === 'send'
      : state === 'Committed';
  const commands = isClaimed
    ? commandsFor(clusterSync, { reset, repair }, isHandsOff || isDry(dryRun), {
        ...{ views, source: finding, nowMs, isCommitDue },
        isRepairAwaited: repair.kind === 'under way',
      })
    : [];
  const start = planStart(clusterSync, {
    ...{ dryRun, views, targets: processes, commands, view: world.check, nowMs },
    isHandsOff: isHandsOff || clusterSync.metadata.deletionTimestamp !== undefined,
  });
  const preflight = { dryRun, outlook: start.outlook };
  const report = {
    status: commitStatus(facts, plan),
    opensAt: plan?.opensAt,
    doubt: verificationDoubt(clusterSync, assessment, world.commit, nowMs),
    cause: gravestCause([
      plan?.cause,
      dryRunCause(clusterSync, preflight),
      limitsCause(clusterSync, views),
    ]),
  };
  const observed = withReset(clusterSync, statusOf(input, assessment, report, preflight), reset);
  const status = withRepair(clusterSync, observed, repair);
  // The pod that reports the topology may not be one of the final ones.
  const targets = isSourceKnown ? processes : noTargets;
  const [sourceTarget] = isSourceAsked(clusterSync) ? processes.values() : [];
  // Pods are not created if nothing could be learned about them.
  const isNotToBeMade =
    untrusted !== undefined || (world.sourceView.kind === 'refused' && !isSourceKnown);
  const { statefulSet } = world;
  const secretsRecord =
    isNotToBeMade && !statefulSet
      ? undefined
      : secretsRecordOf(world, { statefulSet, nowMs, hasPods: !isResting });
  const isToStop =
    // Its pods would continue a sync that they find there, whatever they receive.
    isLost ||
    // They have nothing more to do, and the rest of what they should be made of cannot be applied.
    (isResting && !isHandsOff && (disallowed ?? rejection) !== undefined);
  const isWaiting =
    missing ?? unclaimed ?? untrusted ?? (rejection?.level === 'warning' || !finding.source);
  return {
    objects:
      isHandsOff || disallowed !== undefined || secretsRecord === undefined || isSourceNew
        ? undefined
        : unlessUnstartable(
            syncerObjects(
              clusterSync,
              {
                ...{ instances, isResting, secretsRecord, token: world.token },
                isContested: isContested || heldBack,
              },
              settings,
            ),
            world.statefulSet,
            missing ?? untrusted,
          ),
    toStop: isToStop && world.statefulSet?.spec?.replicas !== 0 ? world.statefulSet : undefined,
    nodesToRead: [...new Set(plans.flatMap((plan) => (plan.kind === 'look' ? plan.node : [])))],
    lostPods: plans.flatMap((plan) => (plan.kind === 'delete' ? plan.pod : [])),
    targets,
    sourceTarget,
    check: start.request,
    commands: start.commands,
    finalizers,
    isEnded: reset.kind === 'done' && reset.cause.kind === 'deletion',
    isReset: reset.kind === 'done' && reset.isReset,
    isLeft: reset.kind === 'done' && reset.isLeft,
    commit: plan?.step ?? stepBeforePublishing(facts) ?? { kind: 'none' },
    status,
    isStatusPending: views.some(
      ({ instance, observation }) =>
        targets.has(instance.id) && !observation?.answer && !observation?.unreachable,
    ),
    events: eventsOf(clusterSync.status, status),
    requeueAfterMs: Math.min(
      isResting
        ? restMs
        : isWaiting
          ? waitingMs
          : isCommittedIn(clusterSync)
            ? committedResyncMs
            : resyncMs,
      ...((facts.hold ?? plan?.cause?.level === 'waiting') ? [commitMs] : []),
      ...(plan?.opensAt === undefined ? [] : [untilOpenMs(plan.opensAt, nowMs)]),
      ...(isSourceNew || reset.kind === 'done' || isNew(status, clusterSync) ? [0] : []),
      ...plans.flatMap((plan) => (plan.kind === 'wait' ? plan.untilMs - nowMs : [])),
      ...views.flatMap(({ observation }) => (observation ? dueMs(observation, nowMs) : [])),
    ),
  };
}

/** The same, and in the cause, if its node is unresponsive, what the operator does about it. */
function withReplacement(state: PodState, plan: LostPodPlan): PodState {
  const { cause } = state;
  return cause
    ? { ...state, cause: { ...cause, message: `${cause.message}${replacementText(plan)}` } }
    : state;
}

/** Whether a repair is about to be recorded, which is then sent. */
function isNew({ repair }: ClusterSyncStatus, { status }: ClusterSync): boolean {
  return repair?.state === 'Requested' && repair.token !== status?.repair?.token;
}

/** What is known about the process that is asked for the topology, if it does not answer. */
function silenceOf(view: SourceView): InstanceView['observation'] {
  if (view.kind !== 'silent') return undefined;
  const { process, unreachable } = view;
  const { sinceMs: askedMs } = unreachable;
  return { process, answer: undefined, askedMs, unreachable, command: undefined };
}

/** While the sync is being ended, or this is about to be recorded, the instances receive no other command. */
function commandsFor(
  clusterSync: ClusterSync,
  { reset, repair }: { readonly reset: ResetPlan; readonly repair: RepairPlan },
  isHandsOff: boolean,
  input: CommandInput,
): InstanceCommand[] {
  switch (reset.kind) {
    case 'done':
      return [];
    case 'under way':
      return reset.isSent && !clusterSync.spec.suspend
        ? resetCommands(input.views, endOf(clusterSync, reset), input.nowMs)
        : [];
    case 'refused':
    case 'none': {
      if (isHandsOff || clusterSync.metadata.deletionTimestamp !== undefined) return [];
      const { views, nowMs } = input;
      const steps = [
        ...commandsOf(clusterSync, input),
        ...repairCommands(clusterSync, repair, nowMs),
      ];
      // An instance receives one command at a time.
      const limits = limitCommands(clusterSync, views, nowMs).filter(
        ({ id }) => !steps.some((step) => step.id === id),
      );
      return [...steps, ...limits];
    }
  }
}

/** A deletion ends only the sync of this ClusterSync; starting over ends any sync that is in the way. */
function endOf(
  clusterSync: ClusterSync,
  { cause, destination }: ResetPlan & { readonly kind: 'under way' },
): Parameters<typeof resetCommands>[1] {
  return cause.kind === 'deletion'
    ? { destination, digest: wantedDigest(clusterSync) }
    : { destination };
}

function trustOf(clusterSync: ClusterSync, { authority }: World): ApiTrust {
  const serverName = serverNameOf(syncerName(clusterSync), clusterSync.metadata);
  return apiTrust(clusterSync.spec.syncer, authority, serverName);
}

function targetsOf(
  views: readonly InstanceView[],
  token: string,
  trust: ApiTrust,
): ReadonlyMap<string, MonitorTarget> {
  return new Map(
    views.flatMap(({ instance, pod }) => {
      const target = targetOf(pod, { port: syncerPort, token, trust });
      return target ? [[instance.id, target]] : [];
    }),
  );
}
