import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import { requireReplaceable, reversedState } from '../../syncer/reverse/hand-over.ts';
import { countingRecord } from '../../syncer/store/clusters.ts';
import type { SyncRecord } from '../../syncer/store/records.ts';
import { reversibleSync } from '../../syncer/testing/reversible-sync.ts';
import { requireRefusal } from './refusal.ts';
import type { Happening } from './search.ts';

/** A deployment that may hold the state of the sync. `cluster1` is the first destination. */
type Place = 'cluster0' | 'cluster1';

/** The record of the sync, as far as it is looked at here. */
export interface Stored {
  readonly reversals: number;
  readonly phase: 'handover' | 'preparing' | 'changes';
}

/** What a deployment holds of the sync. */
interface Held {
  readonly record: Stored | null;
  /** The rest of the state: of which number of reversals it is; null for none. */
  readonly catalog: number | null;
  /** The process to which the instance belongs. */
  readonly owner: number | null;
}

/** One write of a hand-over, in the order in which they are sent. */
type Write =
  | { readonly kind: 'drop the record' | 'drop the rest' }
  | { readonly kind: 'put the catalog' | 'create the record'; readonly reversals: number };

interface SentWrite {
  readonly by: number;
  readonly to: Place;
  readonly write: Write;
}

/** A process of the one instance. */
interface Process {
  readonly number: number;
  /** The reversals of the record that it works by. */
  readonly reversals: number;
  readonly step:
    | 'found'
    | 'moved'
    | 'claimed'
    | 'moving'
    | 'looked'
    | 'dropping'
    | 'putting'
    | 'creating'
    | 'clearing'
    | 'clearing the rest'
    | 'cleared'
    | 'applying changes'
    | 'superseded';
  /** The store has confirmed lately that the instance is its own. */
  readonly hasRight: boolean;
  /** What it has sent is not answered. */
  readonly isWaiting: boolean;
}

/** Everything that there is. A value of it is never changed. */
export interface Model {
  readonly held: Readonly<Record<Place, Held>>;
  readonly processes: readonly Process[];
  readonly onTheirWay: readonly SentWrite[];
  /** How many processes there were. */
  readonly started: number;
  readonly wrong: string | null;
}

/** The rules of a hand-over. Without any one of them something goes wrong. */
export const allRules = {
  'a process waits for what others have sent, and for their right to end': true,
  'moving needs the right': true,
  'clearing needs the right': true,
  'the record is written last': true,
  'of two records that with more reversals counts': true,
  'a record that is there already is not written again': true,
  'the instance is not taken over after a move': true,
};
type Rules = typeof allRules;

/** How often the sync is reversed. */
const maxReversals = 2;

/** How many processes there are, one after the other or side by side. */
const maxProcesses = 3;

const nowhere: Held = { record: null, catalog: null, owner: null };

/** How it begins: a committed sync has been told to reverse. */
export const beginning: Model = {
  held: {
    cluster0: nowhere,
    cluster1: { record: { reversals: 0, phase: 'handover' }, catalog: 0, owner: 0 },
  },
  processes: [{ number: 0, reversals: 0, step: 'claimed', hasRight: true, isWaiting: false }],
  onTheirWay: [],
  started: 1,
  wrong: null,
};

const writableTime = new Timestamp({ t: 50, i: 1 });

/** The records of the sync after each number of reversals: by the product's own change of it. */
const records = ((): readonly SyncRecord[] => {
  const all = [reversibleSync()];
  for (const record of all.slice()) {
    let last = record;
    while (all.length <= maxReversals) {
      last = reversedState({ ...last, writableTime }, [], []).record;
      all.push(last);
    }
  }
  return all;
})();

function recordOf({ reversals, phase }: Stored): SyncRecord {
  const record = records[reversals];
  assert.ok(record);
  return { ...record, phase };
}

/** Where the state is after a number of reversals. */
function placeOf(reversals: number): Place {
  return records[reversals]?.destination.name ?? 'cluster1';
}

function otherThan(place: Place): Place {
  return place === 'cluster0' ? 'cluster1' : 'cluster0';
}

/** The record that a process works by that is started now. */
export function foundRecord({ held }: Pick<Model, 'held'>, rules: Rules): Stored | undefined {
  const stored = [held.cluster1.record, held.cluster0.record].filter((record) => record !== null);
  if (!rules['of two records that with more reversals counts']) return stored[0];
  const found = countingRecord(stored.map(recordOf));
  return stored.find(({ reversals }) => reversals === found?.reversals);
}

/** Everything that may happen in a state of a hand-over, each thing once. */
export function happeningsOf(rules: Rules): (model: Model) => readonly Happening<Model>[] {
  return (model) => {
    const steps: Happening<Model>[] = [];
    const add = (what: string, next: Model): void => {
      steps.push({ what, next: { ...next, wrong: next.wrong ?? wrongIn(next, rules) } });
    };
    const isAnybodyWorking = model.processes.some(({ step }) => step !== 'superseded');
    if (model.started < maxProcesses || !isAnybodyWorking) {
      const found = foundRecord(model, rules);
      if (found)
        add('a process is started', {
          ...model,
          started: model.started + 1,
          processes: [
            ...model.processes,
            {
              ...{ number: model.started, reversals: found.reversals, step: 'found' },
              ...{ hasRight: false, isWaiting: false },
            },
          ],
        });
    }
    for (const process of model.processes) {
      if (model.started < maxProcesses)
        add('a process is killed', {
          ...model,
          processes: model.processes.filter((one) => one !== process),
        });
      if (process.hasRight && model.started > 1)
        add('a confirmation becomes old', changed(model, process, { hasRight: false }));
      processSteps(model, process, rules, add);
    }
    for (const sent of model.onTheirWay) {
      const rest = model.onTheirWay.filter((one) => one !== sent);
      const done = inEffect({ ...model, onTheirWay: rest }, sent);
      const sender = model.processes.find(({ number }) => number === sent.by);
      add('a write takes effect', sender ? answered(done, sender, sent.write, rules) : done);
      // All of the step is repeated.
      if (sender)
        add(
          'a write takes effect, and its answer is lost',
          changed(done, sender, { isWaiting: false, step: 'claimed' }),
        );
      if (!sender) add('a write is lost', { ...model, onTheirWay: rest });
    }
    return steps;
  };
}

function changed(model: Model, process: Process, change: Partial<Process>): Model {
  const processes = model.processes.map((one) =>
    one.number === process.number ? { ...one, ...change } : one,
  );
  return { ...model, processes };
}

function holding(model: Model, place: Place, change: Partial<Held>): Model {
  return { ...model, held: { ...model.held, [place]: { ...model.held[place], ...change } } };
}

/** What fills the new place, in this order. */
function movingWrites(
  rules: Rules,
): readonly ['put the catalog' | 'create the record', 'put the catalog' | 'create the record'] {
  return rules['the record is written last']
    ? ['put the catalog', 'create the record']
    : ['create the record', 'put the catalog'];
}

type Add = (what: string, next: Model) => void;

function processSteps(model: Model, process: Process, rules: Rules, add: Add): void {
  const { number, reversals, step, hasRight, isWaiting } = process;
  if (isWaiting || step === 'superseded') return;
  const place = placeOf(reversals);
  const other = otherThan(place);
  const { record, owner } = model.held[place];
  /** Continues only with the right of this process, which it asks for if it is old. */
  const withRight = (isNeeded: boolean, go: () => void): void => {
    if (hasRight || !isNeeded) go();
    else if (owner === number)
      add('the right is confirmed', changed(model, process, { hasRight: true }));
    else add('a process is superseded', changed(model, process, { step: 'superseded' }));
  };
  const send = (to: Place, write: Write, next: Process['step']): Model => ({
    ...changed(model, process, { isWaiting: true, step: next }),
    onTheirWay: [...model.onTheirWay, { by: number, to, write }],
  });
  const isClear =
    !rules['a process waits for what others have sent, and for their right to end'] ||
    (model.onTheirWay.every(({ to }) => to !== other) &&
      model.processes.every((one) => one.number === number || !one.hasRight));
  switch (step) {
    case 'found':
    case 'moved': {
      const mayTakeOver = step === 'found' || !rules['the instance is not taken over after a move'];
      if (owner !== null && !mayTakeOver) {
        add('a process is superseded', changed(model, process, { step: 'superseded' }));
        break;
      }
      const isNewers = step === 'moved' && owner !== null && owner > number;
      const claimed = {
        ...holding(model, place, { owner: number }),
        wrong: isNewers ? 'an instance was taken from the process that has taken it over' : null,
      };
      add('an instance is claimed', changed(claimed, process, { step: 'claimed', hasRight: true }));
      break;
    }
    case 'claimed': {
      const stored = record?.phase === 'handover' || !record ? foundRecord(model, rules) : record;
      if (stored && stored.reversals !== reversals)
        add(
          'the state is found moved',
          changed(model, process, { reversals: stored.reversals, step: 'moved', hasRight: false }),
        );
      else if (record?.phase === 'handover') {
        if (isClear) add('a move begins', changed(model, process, { step: 'moving' }));
      } else if (record?.phase === 'preparing') {
        if (isClear)
          withRight(rules['clearing needs the right'], () => {
            add('clearing begins', looked(model, process, other));
          });
      } else if (record)
        add('a process applies changes', changed(model, process, { step: 'applying changes' }));
      break;
    }
    case 'moving': {
      const there = model.held[other].record;
      if (
        there?.reversals === reversals + 1 &&
        rules['a record that is there already is not written again']
      )
        add(
          'the state is there already',
          changed(model, process, { reversals: reversals + 1, step: 'moved', hasRight: false }),
        );
      else if (isReplaceable(there, reversals))
        add('the new place is looked at', changed(model, process, { step: 'looked' }));
      else add('a process finds another sync', { ...model, wrong: 'another sync was found' });
      break;
    }
    case 'looked':
      withRight(rules['moving needs the right'], () => {
        add('a record is dropped', send(other, { kind: 'drop the record' }, 'dropping'));
      });
      break;
    case 'dropping':
      withRight(rules['moving needs the right'], () => {
        add('the rest is dropped', send(other, { kind: 'drop the rest' }, 'putting'));
      });
      break;
    case 'putting':
      withRight(rules['moving needs the right'], () => {
        const [kind] = movingWrites(rules);
        const write = { kind, reversals: reversals + 1 };
        add('the catalog is put', send(other, write, 'creating'));
      });
      break;
    case 'creating':
      withRight(rules['moving needs the right'], () => {
        const [, kind] = movingWrites(rules);
        const write = { kind, reversals: reversals + 1 };
        add('the record is created', send(other, write, 'moved'));
      });
      break;
    case 'clearing':
      withRight(rules['clearing needs the right'], () => {
        add('a record is dropped', send(other, { kind: 'drop the record' }, 'clearing the rest'));
      });
      break;
    case 'clearing the rest':
      withRight(rules['clearing needs the right'], () => {
        add('the rest is dropped', send(other, { kind: 'drop the rest' }, 'cleared'));
      });
      break;
    case 'cleared': {
      const isAsExpected = record?.phase === 'preparing' && record.reversals === reversals;
      const next = isAsExpected
        ? holding(model, place, { record: { reversals, phase: 'changes' } })
        : model;
      add('the preparation ends', changed(next, process, { step: 'claimed' }));
      break;
    }
    case 'applying changes': {
      if (owner !== number) {
        add('a process is superseded', changed(model, process, { step: 'superseded' }));
        break;
      }
      const isKnown = record?.phase === 'changes' && record.reversals === reversals;
      if (reversals >= maxReversals || !isKnown) break;
      const told = holding(model, place, { record: { reversals, phase: 'handover' } });
      add('it is committed and reversed again', changed(told, process, { step: 'found' }));
      break;
    }
  }
}

/** A process has looked at the place that it is about to clear. */
function looked(model: Model, process: Process, place: Place): Model {
  const there = model.held[place].record;
  return isReplaceable(there, process.reversals)
    ? changed(model, process, { step: 'clearing' })
    : { ...model, wrong: 'another sync was found' };
}

function isReplaceable(there: Stored | null, reversals: number): boolean {
  const current = records[reversals];
  assert.ok(current);
  try {
    requireReplaceable(there ? recordOf(there) : undefined, current);
    return true;
  } catch (error) {
    requireRefusal(error, 'OtherSyncUnfinished');
    return false;
  }
}

function inEffect(model: Model, { to, write }: SentWrite): Model {
  switch (write.kind) {
    case 'drop the record':
      return holding(model, to, { record: null });
    case 'drop the rest':
      return holding(model, to, { catalog: null, owner: null });
    case 'put the catalog':
      return holding(model, to, { catalog: write.reversals });
    case 'create the record':
      return model.held[to].record
        ? model
        : holding(model, to, { record: { reversals: write.reversals, phase: 'preparing' } });
  }
}

/** The sender of a write hears of its effect. */
function answered(model: Model, process: Process, { kind }: Write, rules: Rules): Model {
  const isMoved = process.step === 'moved' && kind === movingWrites(rules)[1];
  const moved = isMoved ? { reversals: process.reversals + 1, hasRight: false } : {};
  return changed(model, process, { isWaiting: false, ...moved });
}

/** What must never be; null if it is not. */
function wrongIn(model: Model, rules: Rules): string | null {
  const found = foundRecord(model, rules);
  if (!found) return 'no record is found';
  const { held } = model;
  const place = placeOf(found.reversals);
  const all = [held.cluster0.record, held.cluster1.record];
  const latest = Math.max(...all.map((record) => record?.reversals ?? 0));
  if (found.reversals < latest) return 'the former record is found';
  if (held[place].catalog !== found.reversals)
    return 'a record is found without the rest of its state';
  return null;
}

/** Whether the sync has been reversed as often as it is to be, and nothing is left in the other place. */
export function isReversed({ held, onTheirWay }: Model): boolean {
  const place = placeOf(maxReversals);
  const { record } = held[place];
  const left = held[otherThan(place)];
  return (
    record?.phase === 'changes' &&
    record.reversals === maxReversals &&
    left.record === null &&
    left.catalog === null &&
    onTheirWay.length === 0
  );
}
