import { commandWrite } from '../../syncer/store/record-store.ts';
import {
  commitTimeWrites,
  commitWaitsFor,
  isTimeOfCommitDue,
  stateOf,
} from '../../syncer/store/instances.ts';
import { stateAfter } from '../../syncer/store/transitions.ts';
import { everythingHolds } from '../../syncer/testing/everything-holds.ts';
import { assemblyOf, isAsExpected, nameOf, recordOf, timestampOf } from './instances-records.ts';
import {
  changed,
  isCatalogChange,
  lastBefore,
  notBeforeCommit,
  timeOf,
  type Model,
  type Rules,
  type Running,
  type Step,
  type StoredSync,
} from './instances-state.ts';
import { requireRefusal } from './refusal.ts';

/** The commit: given to an instance, its time fixed, its changes ended. */
export function commitSteps(model: Model, { index, process }: Running, rules: Rules): Step[] {
  const { sync, written } = model;
  const { command, stage, fixing, hasTakenOver } = process;
  const steps: Step[] = [];
  const add = (what: string, next: Model): void => {
    steps.push({ what, next });
  };
  if (command === 'none' && mayCommit(sync, index))
    add('the commit is sent to the store', changed(model, index, { command: 'sent' }));
  if (command === 'sent')
    add('the commit is given', {
      ...changed(model, index, { command: 'given' }),
      sync: given(sync, index),
    });
  const record = recordOf(sync);
  const isDue = rules['the time waits until all have the command']
    ? isTimeOfCommitDue(record)
    : record.state === 'COMMITTING' && record.commitTime === null;
  if (process.lease === 'relied on' && isDue && fixing === 'none')
    add('the coordinator may fix the time', changed(model, index, { fixing: 'allowed' }));
  const { intention, time } = commitTimeWrites;
  if (fixing === 'allowed') {
    const isTaken = isAsExpected(sync, intention.expected);
    const intended = rules['the intention is stored before the time is taken']
      ? intention.change
      : {};
    add(
      'the intention is stored',
      isTaken
        ? { ...changed(model, index, { fixing: 'intended' }), sync: { ...sync, ...intended } }
        : changed(model, index, { fixing: 'none' }),
    );
  }
  if (fixing === 'intended')
    add('the time is taken', changed(model, index, { fixing: timeOf(written) + 1 }));
  if (typeof fixing === 'number') {
    const { expected } = time(timestampOf(fixing));
    const isTaken = !rules['the time is stored once'] || isAsExpected(sync, expected);
    const done = changed(model, index, { fixing: 'none' });
    add('the time is stored', isTaken ? fixed(done, fixing) : done);
  }
  const isCoordinating = process.lease === 'relied on' && stage === 'ended';
  if (!isCoordinating || sync.phase !== 'changes' || sync.commitTime === null) return steps;
  const waits = rules['the commit waits for all']
    ? commitWaitsFor(assemblyOf(model), timestampOf(sync.commitTime))
    : undefined;
  if (waits === undefined && !hasTakenOver && model.onTheirWay.length === 0)
    add('the coordinator takes over', {
      ...changed(model, index, { hasTakenOver: true }),
      takenOver: model.lease.number,
    });
  if (waits === undefined && hasTakenOver) add('the changes end', ended(model, sync.commitTime));
  return steps;
}

function mayCommit(sync: StoredSync, index: number): boolean {
  const state = stateOf(recordOf(sync), nameOf(index));
  try {
    return stateAfter('commit', { ...everythingHolds, state }) === 'COMMITTING';
  } catch (error) {
    requireRefusal(error, 'InvalidStateTransition');
    return false;
  }
}

/** The product's own write for the command: the first instance changes the state, the others join. */
function given(sync: StoredSync, index: number): StoredSync {
  const record = recordOf(sync);
  const isFirst = sync.received[index] === sync.commandCount;
  const { change } = commandWrite(
    record,
    nameOf(index),
    isFirst ? { state: 'COMMITTING' } : undefined,
  );
  const commandCount = Number(change['commandCount']);
  const received = sync.received.map((count, at) => Number(change[`received.${at}`] ?? count));
  return { ...sync, commandCount, received, state: 'COMMITTING' };
}

function fixed(model: Model, time: number): Model {
  const { sync, instances } = model;
  const isOther = sync.commitTime !== null && sync.commitTime !== time;
  const isEarly = instances.some(({ applied: last }) => timeOf(last) > time);
  const wrong = isOther
    ? 'the time of the commit was fixed twice'
    : isEarly
      ? notBeforeCommit
      : model.wrong;
  return { ...model, sync: { ...sync, commitTime: time }, wrong };
}

function ended(model: Model, commitTime: number): Model {
  const { sync, instances, catalog } = model;
  const last = lastBefore(commitTime);
  const lastApplied = isCatalogChange(last) ? last - 1 : last;
  const isWhole = instances.every((one) => one.applied === lastApplied);
  const isCatalogWhole = catalog === (last >= 2 ? 2 : 0);
  const wrong =
    isWhole && isCatalogWhole ? model.wrong : 'changes ended before everything was applied';
  return { ...model, sync: { ...sync, phase: 'restoring' }, wrong };
}
