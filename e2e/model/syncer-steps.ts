import assert from 'node:assert/strict';
import { SyncError } from '../../service/errors.ts';
import { requireSettled } from '../../syncer/lifecycle/boot.ts';
import { commitWord, type CommitWord } from '../../syncer/monitor/commit-word.ts';
import { stateOf } from '../../syncer/store/instances.ts';
import { commandWrite } from '../../syncer/store/record-store.ts';
import type { SyncRecord, SyncView } from '../../syncer/store/records.ts';
import { stateAfter } from '../../syncer/store/transitions.ts';
import { reversibleSync } from '../../syncer/testing/reversible-sync.ts';
import type { Model, Process, Stored } from './commit-state.ts';
import type { Happening } from './search.ts';

const instance = 'syncer';

const running: SyncRecord = { ...reversibleSync(), phase: 'changes', instances: [instance] };
const committing = written(running);
const records: Readonly<Record<Stored, SyncRecord>> = {
  running,
  committing,
  committed: { ...committing, state: 'COMMITTED', phase: 'done' },
};

/** The record after the product's own write for a commit. */
function written(record: SyncRecord): SyncRecord {
  const { command, ...first } = { command: 'commit', state: 'COMMITTING' } as const;
  const write = commandWrite(record, instance, { ...first, command, formerState: record.state });
  const { 'received.0': received, ...change } = write.change;
  return { ...record, ...change, received: [Number(received)] };
}

/** Whether the store takes a write for a commit of a process that knows of this record. */
function isTaken(known: Stored, primary: Stored): boolean {
  const { expected } = commandWrite(records[known], instance, { state: 'COMMITTING' });
  return expected.commandCount === records[primary].commandCount;
}

/** The record as the syncer shows it. */
export function viewOf(stored: Stored): SyncView {
  const state = stateOf(records[stored], instance);
  assert.ok(state !== 'IDLE');
  return { ...records[stored], state };
}

/** What the progress of a syncer says of a commit. */
export function wordOf({ record, isWorking, onPrimary, isProven, request }: Process): CommitWord {
  const ageMs = isProven ? 0 : null;
  const cluster = { ageMs, versionAgeMs: ageMs, versionRefusal: null };
  return commitWord(viewOf(record), {
    source: cluster,
    destination: cluster,
    recordAgeMs: onPrimary === null ? null : 0,
    commandsOnPrimary: onPrimary === null ? null : records[onPrimary].commandCount,
    sentAgeMs: request?.stage === 'sent' ? 0 : null,
    isCommitInHand: request !== null,
    otherCommand: null,
    retryWarnings: [],
    leftIndexes: [],
    isWorking,
    isShared: false,
  });
}

/** What the syncer may do next. */
export function syncerSteps(model: Model): Happening<Model>[] {
  const { syncer, requests, primary, majority, isWriteOnItsWay, command } = model;
  if (!syncer) {
    const started: Process = {
      record: majority,
      isWorking: majority === 'committed',
      onPrimary: null,
      isProven: false,
      request: null,
    };
    return isSettled(model)
      ? [{ what: 'the syncer starts', next: { ...model, syncer: started } }]
      : [];
  }
  const { request } = syncer;
  const withSyncer = (what: string, change: Partial<Process>, others: Partial<Model> = {}) => ({
    what,
    next: { ...model, ...others, syncer: { ...syncer, ...change } },
  });
  // Its connections end with it.
  const failed = command === 'sending' ? ({ kind: 'refused', ended: 'now' } as const) : command;
  const dead = { syncer: null, requests: { waitedFor: false, orphaned: false }, command: failed };
  const steps: Happening<Model>[] = [{ what: 'the syncer is killed', next: { ...model, ...dead } }];
  if (!request && requests.waitedFor)
    steps.push(
      withSyncer(
        'a request arrives',
        { request: { stage: 'received', isCallerGone: false } },
        { requests: { ...requests, waitedFor: false } },
      ),
    );
  if (!request && requests.orphaned)
    steps.push(
      withSyncer(
        'a request arrives for which nobody waits',
        { request: { stage: 'received', isCallerGone: true } },
        { requests: { ...requests, orphaned: false } },
      ),
    );
  const answered = (kind: 'taken' | 'refused', isCallerGone: boolean): Partial<Model> =>
    isCallerGone ? {} : { command: { kind, ended: 'now' } };
  if (request?.stage === 'received') {
    steps.push(
      isAllowed(syncer)
        ? withSyncer(
            'the commit is sent to the store',
            { request: { ...request, stage: 'sent' } },
            { isWriteOnItsWay: true },
          )
        : withSyncer(
            'the commit is refused',
            { request: null },
            answered('refused', request.isCallerGone),
          ),
    );
  }
  if (request?.stage === 'sent') {
    if (!isWriteOnItsWay && primary === 'running')
      steps.push({ what: 'the write is repeated', next: { ...model, isWriteOnItsWay: true } });
    if (majority !== 'running')
      steps.push(
        withSyncer(
          'a majority acknowledges',
          { record: majority, request: null },
          answered('taken', request.isCallerGone),
        ),
      );
  }
  if (!syncer.isWorking && !isWriteOnItsWay)
    steps.push(withSyncer('the syncer works', { isWorking: true, record: majority }));
  if (syncer.onPrimary !== primary && syncer.isWorking)
    steps.push(withSyncer('the record is read', { onPrimary: primary }));
  if (
    syncer.onPrimary === 'committing' &&
    !request &&
    syncer.record === 'running' &&
    majority !== 'running'
  )
    steps.push(withSyncer('the record of a former process is taken up', { record: majority }));
  if (syncer.isProven || syncer.onPrimary !== null)
    steps.push(withSyncer('proofs become old', { isProven: false, onPrimary: null }));
  if (!syncer.isProven && syncer.isWorking && primary === majority)
    steps.push(withSyncer('a majority answers', { isProven: true }));
  if (syncer.record === 'committing' && syncer.isWorking && majority === 'committing')
    steps.push(
      withSyncer(
        'the commit is completed',
        { record: 'committed' },
        { primary: 'committed', majority: 'committed' },
      ),
    );
  return steps;
}

/** Whether a process that starts takes what it reads for the state of the sync. */
function isSettled({ primary, majority }: Model): boolean {
  try {
    requireSettled('cluster1', records[majority], records[primary]);
    return true;
  } catch {
    return false;
  }
}

/** Whether a request is sent to the store, or refused. */
function isAllowed(syncer: Process): boolean {
  const { canCommit, warnings } = wordOf(syncer);
  try {
    stateAfter('commit', {
      state: viewOf(syncer.record).state,
      canCommit,
      commitWarnings: warnings,
      versionRefusal: undefined,
      isCallerGone: syncer.request?.isCallerGone ?? false,
      isReversible: true,
      failure: undefined,
    });
    return true;
  } catch (error) {
    if (error instanceof SyncError) return false;
    throw error;
  }
}

/** What may become of a write, and of what is stored. */
export function storeSteps(model: Model): Happening<Model>[] {
  const { isWriteOnItsWay, primary, majority } = model;
  const steps: Happening<Model>[] = [];
  if (isWriteOnItsWay) {
    const taken = isTaken('running', primary) ? 'committing' : primary;
    steps.push({
      what: 'the write comes',
      next: { ...model, isWriteOnItsWay: false, primary: taken },
    });
    steps.push({ what: 'the write is lost', next: { ...model, isWriteOnItsWay: false } });
  }
  if (primary !== majority) {
    steps.push({ what: 'a majority has it', next: { ...model, majority: primary } });
    steps.push({ what: 'it is rolled back', next: { ...model, primary: majority } });
  }
  return steps;
}
