import assert from 'node:assert/strict';
import { provesNoCommit } from '../../operator/clustersync/commit-facts.ts';
import { isAtLeast, stageOf } from '../../operator/clustersync/stage.ts';
import type { SyncerCommand, SyncerProgress } from '../../operator/clustersync/syncer-client.ts';
import type { Hold } from '../../operator/commit/hold.ts';
import {
  planCommit,
  type CommitFacts,
  type CommitProgress,
  type CommitStep,
  type WorkloadView,
} from '../../operator/commit/plan.ts';
import {
  maySend,
  type CommandState,
  type Observation,
} from '../../operator/operand/observation.ts';
import { readProgress } from '../../sync-api/syncer-answers.ts';
import type { Ago, Known, Model } from './commit-state.ts';
import type { Happening } from './search.ts';
import { viewOf, wordOf } from './syncer-steps.ts';

const nowMs = 1_000_000;
const msOf: Readonly<Record<Ago, number>> = { now: nowMs, longAgo: nowMs - 60_000 };
const holder = { namespace: 'shop', name: 'orders', uid: 'sync-uid' };
const web = { kind: 'Deployment', name: 'web' } as const;
const options: CommitFacts['options'] = {
  mode: 'Automatic',
  maxLagSeconds: 10,
  workloads: [web],
  workloadsAfterCommit: 'StayAtZero',
  deadlineSeconds: 300,
};
/** What may happen to the operator, or what it does next. */
export function operatorSteps(model: Model): Happening<Model>[] {
  const { known, syncer, requests, command, isAskedFor, isLate } = model;
  const nobody = { waitedFor: false, orphaned: requests.waitedFor || requests.orphaned };
  const restarted = { ...model, ...orphaned(model), known: null, command: null, requests: nobody };
  const steps = [
    { what: 'the operator takes a step', next: pass(model) },
    { what: 'the operator is restarted', next: restarted },
    { what: 'time goes by', next: later(model) },
  ];
  if (!isLate) steps.push({ what: 'the deadline is over', next: { ...model, isLate: true } });
  if (isAskedFor)
    steps.push({ what: 'nobody asks for it any more', next: { ...model, isAskedFor: false } });
  if (syncer) {
    const { canCommit, commitUnderWay } = wordOf(syncer);
    const answer = { canCommit, commitUnderWay, state: viewOf(syncer.record).state };
    const heard: Known = { answer, asked: 'now', isUnreachable: false };
    steps.push({ what: 'the syncer answers', next: { ...model, known: heard } });
  }
  if (known) {
    // Nothing else of what it said counts any more.
    const answer = { ...known.answer, canCommit: false, commitUnderWay: null };
    const silent: Known = { answer, asked: 'longAgo', isUnreachable: true };
    steps.push({ what: 'the syncer cannot be reached', next: { ...model, known: silent } });
  }
  if (command === 'sending')
    steps.push({
      what: 'the operator gives the request up',
      next: {
        ...model,
        ...orphaned(model),
        command: { kind: 'refused', ended: 'now' },
        requests: nobody,
      },
    });
  return steps;
}

/** Nobody waits for the request that the syncer has been given any more. */
function orphaned({ syncer }: Model): Pick<Model, 'syncer'> {
  const request = syncer?.request;
  return {
    syncer: syncer && request ? { ...syncer, request: { ...request, isCallerGone: true } } : syncer,
  };
}

function later(model: Model): Model {
  const { hold, known, command } = model;
  return {
    ...model,
    hold: hold && { ...hold, sent: hold.sent && 'longAgo' },
    known: known && { ...known, asked: 'longAgo' },
    command: typeof command === 'object' ? command && { ...command, ended: 'longAgo' } : command,
  };
}

/** What Kubernetes may do next. */
export function kubernetesSteps(model: Model): Happening<Model>[] {
  return model.size === 'stopping'
    ? [{ what: 'the pods end', next: { ...model, size: 'down' } }]
    : [];
}

/** One pass of the operator: the product's plan, and the step that it says. */
function pass(before: Model): Model {
  const isDone = before.known?.answer.state === 'COMMITTED' && !before.known.isUnreachable;
  const model = { ...before, isDoneOnRecord: before.isDoneOnRecord || isDone };
  const { step, missedHash } = planCommit(factsOf(model));
  return take({ ...model, isMissed: missedHash !== undefined }, step);
}

function take(model: Model, step: CommitStep): Model {
  switch (step.kind) {
    case 'none':
    case 'look':
      return model;
    case 'record': {
      const { commitSentMs, ending = null } = step.hold;
      const sent = commitSentMs === undefined ? null : commitSentMs === nowMs ? 'now' : 'longAgo';
      return { ...model, hold: { sent, ending } };
    }
    case 'drop':
      return { ...model, hold: null };
    case 'scale': {
      const isDown = step.scalings.every(({ replicas }) => replicas === 0);
      return { ...model, size: isDown ? 'stopping' : 'up' };
    }
    case 'send': {
      const observation = observationOf(model);
      const isCalledFor = model.known?.answer.state === 'RUNNING';
      if (!observation || !isCalledFor || !maySend(observation, 'commit', nowMs)) return model;
      const { requests } = model;
      return { ...model, command: 'sending', requests: { ...requests, waitedFor: true } };
    }
  }
}

function factsOf(model: Model): CommitFacts {
  const { hold, known, size, isMissed, isAskedFor, isLate } = model;
  const isPossible = known !== null && !known.isUnreachable && known.answer.canCommit;
  const seen = { uid: 'web-uid', resourceVersion: '1' };
  const replicas = size === 'up' ? 1 : 0;
  const view: WorkloadView = {
    ...web,
    state: { kind: 'found', seen, replicas, pods: size === 'down' ? 0 : 1 },
  };
  const held: Hold | undefined = hold
    ? {
        holder,
        direction: 'Forward',
        optionsHash: 'hash',
        sinceMs: isLate ? 0 : nowMs,
        workloads: [{ ...web, uid: seen.uid, replicas: 1 }],
        ...(hold.sent && { commitSentMs: msOf[hold.sent] }),
        ...(hold.ending && { ending: hold.ending }),
      }
    : undefined;
  return {
    nowMs,
    holder,
    options,
    optionsHash: 'hash',
    isAskedFor,
    isByHand: false,
    direction: 'Forward',
    commit: progressOf(model, held?.commitSentMs ?? -Infinity),
    // The hold of the model does not have what becomes of the workloads after that.
    isCarriedOut: false,
    obstacle: isPossible ? undefined : { cause: undefined },
    hold: held,
    missedHash: isMissed ? 'hash' : undefined,
    workloads: [view],
  };
}

function progressOf(model: Model, sentMs: number): CommitProgress {
  if (model.isDoneOnRecord) return 'done';
  const observation = observationOf(model);
  if (!observation) return 'unknown';
  const { answer } = observation;
  const progress = answer?.kind === 'progress' ? answer.progress : undefined;
  if (isAtLeast(stageOf(progress, { direction: 'Forward', digest: '' }), 'committing'))
    return 'taken';
  return provesNoCommit(observation, sentMs, nowMs) ? 'none' : 'unknown';
}

function observationOf({
  known,
  command,
}: Model): Observation<SyncerProgress, SyncerCommand> | undefined {
  if (!known) return undefined;
  const info = 'change event application';
  const progress = readProgress({ ...known.answer, info, canWrite: false });
  assert.ok(progress);
  return {
    process: 'process',
    answer: { kind: 'progress', progress },
    askedMs: msOf[known.asked],
    unreachable: known.isUnreachable ? { sinceMs: 0, description: 'no answer' } : undefined,
    command: commandOf(command),
  };
}

function commandOf(command: Model['command']): CommandState<SyncerCommand> | undefined {
  const name = 'commit';
  if (command === null) return undefined;
  if (command === 'sending') return { name, kind: 'sending' };
  const endedMs = msOf[command.ended];
  if (command.kind === 'taken') return { name, kind: 'taken', endedMs };
  const error = { name: 'SyncerUnreachable', description: 'no answer', isLasting: false };
  return { name, kind: 'refused', error, attempts: 1, endedMs, retryAtMs: endedMs + 1_000 };
}
