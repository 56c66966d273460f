import type { Happening } from './search.ts';

/** Places in the change stream are numbered from 1; the one at place 2 is a change of the catalog. */
export type Place = number;

/** A command for the destination's catalog that a coordinator has sent. */
export interface CatalogWrite {
  readonly by: number;
  readonly life: number;
  /** The number of the lease under which it was sent, counted by the store. */
  readonly lease: number;
  readonly place: Place;
  /** The server shows what it runs, and not what the network still holds. */
  readonly at: 'network' | 'server';
}

/** A process of an instance. */
export interface Process {
  readonly life: number;
  /** The last change that it is done with. */
  readonly place: Place;
  /**
   * What it does with the next one: nothing yet; it is read; it is known to be before the commit; everything before it is applied
   * and stored. `ended`: everything before the commit is.
   */
  readonly stage: 'idle' | 'read' | 'before the commit' | 'arrived' | 'ended';
  /** Of the commit. */
  readonly command: 'none' | 'sent' | 'given';
  /** What it believes of its lease: `doubted` when it has not renewed it lately. */
  readonly lease: 'none' | 'relied on' | 'doubted';
  /** It has waited for what former coordinators have sent. */
  readonly hasTakenOver: boolean;
  /** Its change of the catalog. */
  readonly change: 'none' | 'sent' | 'answered';
  /** How far it is with fixing the time of the commit; a number for a time that was taken. */
  readonly fixing: 'none' | 'allowed' | 'intended' | number;
}

/** An instance: what is stored of it, what it has done to the destination, and its process. */
export interface Instance {
  readonly token: Place;
  readonly arrivedAt: Place;
  /** As a time: {@link timeOf}. */
  readonly appliedTime: number;
  readonly applied: Place;
  /** A change that a killed process has sent, and that is still on its way. */
  readonly late: Place | null;
  readonly lives: number;
  readonly process: Process | null;
}

/** The record of the sync, as far as the instances decide by it. */
export interface StoredSync {
  readonly phase: 'changes' | 'restoring' | 'done';
  readonly state: 'RUNNING' | 'COMMITTING' | 'COMMITTED';
  readonly commandCount: number;
  readonly received: readonly number[];
  readonly commitTime: number | null;
  readonly isFixingCommitTime: boolean;
  readonly catalogEvent: Place | null;
}

/** Everything that there is. A value of it is never changed. */
export interface Model {
  /** How many changes the source has. */
  readonly written: Place;
  readonly sync: StoredSync;
  /** `number`: how often it has passed to another process. */
  readonly lease: {
    readonly holder: number | null;
    readonly life: number;
    readonly number: number;
    readonly isOver: boolean;
  };
  readonly instances: readonly Instance[];
  /** The last change of the catalog that took effect on the destination. */
  readonly catalog: Place;
  /** The last lease under which a coordinator has taken over. */
  readonly takenOver: number;
  readonly onTheirWay: readonly CatalogWrite[];
  /** How much may still go wrong. */
  readonly kills: number;
  readonly lapses: number;
  readonly cuts: number;
  /** What must never happen, and did. */
  readonly wrong: string | null;
}

/** What a model is explored with. */
export interface Bounds {
  readonly instances: number;
  readonly changes: Place;
  readonly kills: number;
  readonly lapses: number;
  readonly cuts: number;
  /** Whether the sync is committed at the end. */
  readonly isCommitted: boolean;
}

/** The rules that the instances keep. Without any one of them something goes wrong. */
export const allRules = {
  'a lease outlasts the trust in it': true,
  'the lease is checked when a change is sent': true,
  'a coordinator waits for what the server runs': true,
  'a coordinator waits for what the network holds': true,
  'another lease is taken over again': true,
  'a change of the catalog waits for all': true,
  'an arrival stores what was applied': true,
  'a process waits for what the one before it has sent': true,
  'the place of a change is stored once it is done': true,
  'the time waits until all have the command': true,
  'the intention is stored before the time is taken': true,
  'the time is looked up after reading': true,
  'the time is stored once': true,
  'the commit waits for all': true,
};
export type Rules = typeof allRules;
export type Rule = keyof Rules;

/** What is wrong where a change comes after the time of the commit. */
export const notBeforeCommit = 'a change was applied that is not before the commit';

export type Step = Happening<Model>;

/** An instance whose process is running. */
export interface Running extends Instance {
  readonly index: number;
  readonly process: Process;
}

/** The cluster time of a change. The time of a commit is between those of two changes. */
export function timeOf(place: Place): number {
  return 2 * place;
}

/** The change that restores the catalog at the end of a commit: after all others. */
export const restoration: Place = 9;

export function isCatalogChange(place: Place): boolean {
  return place === 2 || place === restoration;
}

/** The last change before a time. */
export function lastBefore(time: number): Place {
  return Math.floor(time / 2);
}

/** How it begins: changes are applied, by instances that are not yet given the commit. */
export function beginningOf({ instances, kills, lapses, cuts }: Bounds): Model {
  const process: Process = {
    life: 0,
    place: 0,
    stage: 'idle',
    command: 'none',
    lease: 'none',
    hasTakenOver: false,
    change: 'none',
    fixing: 'none',
  };
  const instance: Instance = {
    token: 0,
    arrivedAt: 0,
    appliedTime: 0,
    applied: 0,
    late: null,
    lives: 1,
    process,
  };
  const all = Array.from({ length: instances }, () => instance);
  return {
    written: 1,
    sync: {
      phase: 'changes',
      state: 'RUNNING',
      commandCount: 1,
      received: all.map(() => 1),
      commitTime: null,
      isFixingCommitTime: false,
      catalogEvent: null,
    },
    lease: { holder: null, life: 0, number: 0, isOver: false },
    instances: all,
    catalog: 0,
    takenOver: 0,
    onTheirWay: [],
    ...{ kills, lapses, cuts },
    wrong: null,
  };
}

/** The model after a change of an instance, and of its process. */
export function changed(
  model: Model,
  index: number,
  process: Partial<Process>,
  stored: Partial<Instance> = {},
): Model {
  const instances = model.instances.map((instance, at) =>
    at === index
      ? {
          ...instance,
          ...stored,
          process: instance.process && { ...instance.process, ...process },
        }
      : instance,
  );
  return { ...model, instances };
}
