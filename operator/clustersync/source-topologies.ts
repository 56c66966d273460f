import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../service/logger.ts';
import { backoffMs } from '../../service/sleep.ts';
import { isNotServed } from '../../sync-api/answer-error.ts';
import { readTopology } from '../../sync-api/syncer-answers.ts';
import { systemClock, type Clock } from '../kube/clock.ts';
import { callOperand, errorIn, type ApiError, type Unreachable } from '../operand/http-api.ts';
import type { MonitorTarget } from '../operand/monitor.ts';
import type { Observation } from '../operand/observation.ts';
import { QuestionTurns } from '../operand/question-turns.ts';
import type { SourceShape } from './resources.ts';

/** What is currently known about the source of a ClusterSync. */
export type SourceView =
  | { readonly kind: 'unknown' }
  /** No process could use its connection string; the text of the string shows it. */
  | { readonly kind: 'refused'; readonly error: ApiError }
  /** `isOld`: a later request failed. */
  | { readonly kind: 'found'; readonly source: SourceShape; readonly isOld?: true }
  | { readonly kind: 'failed'; readonly error: ApiError }
  /** The process that was asked has not answered. */
  | { readonly kind: 'silent'; readonly process: string; readonly unreachable: Silence };

type Silence = NonNullable<Observation<unknown, string>['unreachable']>;

/** What asking needs. */
export interface SourceTopologiesOptions {
  /** Receives the key of an object when there is news about its source. */
  readonly onChange: (key: string) => void;
  readonly logger: Logger;
  /** As in OperandMonitor. */
  readonly turns?: QuestionTurns;
  readonly clock?: Clock;
}

interface Entry {
  readonly target: MonitorTarget;
  readonly stop: AbortController;
  view: SourceView;
  isAsking: boolean;
  /** Consecutive failures. */
  failures: number;
  /** When to ask again. */
  askAgainMs: number;
}

const path = '/api/v1/topology';
/** A syncer tries for some seconds to reach servers that do not answer. */
const deadlineMs = 20_000;
/** How long an answer is valid: shards are seldom added. */
const foundMs = 60_000;
/** An unreachable source is queried again soon, and then less often. */
const failedMs = { baseMs: 2_000, maxMs: 30_000 } as const;

const unknown: SourceView = { kind: 'unknown' };

/**
 * The topologies of the sources of ClusterSyncs, as their syncers report them: these have the connection strings, and the operator connects
 * to no database. Asks in the background, for each source separately, and keeps an answer for some time while the process that gave it
 * runs.
 */
export class SourceTopologies implements AsyncDisposable {
  readonly #options: SourceTopologiesOptions;
  readonly #clock: Clock;
  readonly #turns: QuestionTurns;
  readonly #entries = new Map<string, Entry>();
  readonly #tasks = new Set<Promise<void>>();

  constructor(options: SourceTopologiesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#turns = options.turns ?? new QuestionTurns(this.#clock);
  }

  /** What is known about the source of an object. */
  view(key: string): SourceView {
    return this.#entries.get(key)?.view ?? unknown;
  }

  /**
   * Asks a syncer of an object if nothing is known from it, or if what is known has become old.
   * @param target - undefined if there is none, or if nobody wants to know: then nothing is known.
   */
  watch(key: string, target: MonitorTarget | undefined): void {
    if (!target) {
      this.forget(key);
      return;
    }
    const entry = this.#entryOf(key, target);
    if (entry.isAsking || this.#clock.monotonicMs() < entry.askAgainMs) return;
    entry.isAsking = true;
    const running = this.#ask(key, entry)
      .catch((error: unknown) => {
        if (!entry.stop.signal.aborted)
          this.#options.logger.error(
            { err: error, object: key },
            'querying the source topology failed',
          );
      })
      .finally(() => {
        this.#tasks.delete(running);
      });
    this.#tasks.add(running);
  }

  /** Stops asking for an object. */
  forget(key: string): void {
    this.#entries.get(key)?.stop.abort();
    this.#entries.delete(key);
  }

  /** Stops everything; resolves when nothing is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const key of [...this.#entries.keys()]) this.forget(key);
    await Promise.all(this.#tasks);
  }

  #entryOf(key: string, target: MonitorTarget): Entry {
    const known = this.#entries.get(key);
    if (known && isDeepStrictEqual(known.target, target)) return known;
    known?.stop.abort();
    const entry = {
      target,
      stop: new AbortController(),
      view: unknown,
      isAsking: false,
      failures: 0,
      askAgainMs: -Infinity,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  async #ask(key: string, entry: Entry): Promise<void> {
    const { signal } = entry.stop;
    let askedMs = 0;
    const answer = await this.#turns.ask(key, signal, async () => {
      askedMs = this.#clock.wallMs();
      return await ask(entry.target, signal);
    });
    if (signal.aborted) return;
    entry.isAsking = false;
    entry.failures = answer.kind === 'found' ? 0 : entry.failures + 1;
    const forMs = entry.failures === 0 ? foundMs : backoffMs(entry.failures - 1, failedMs);
    entry.askAgainMs = this.#clock.monotonicMs() + forMs;
    if (answer.kind === 'failed') {
      const { name, description } = answer.error;
      this.#options.logger.warn({ object: key, error: name }, `the source: ${description}`);
    }
    const view = viewAfter(entry, answer, askedMs);
    const isNews = !isDeepStrictEqual(view, entry.view);
    entry.view = view;
    if (isNews) this.#options.onChange(key);
  }
}

type Answer = Extract<SourceView, { readonly kind: 'found' | 'failed' }> | Unreachable;

/** Its last answer says more than its present silence. */
function viewAfter({ target, view }: Entry, answer: Answer, askedMs: number): SourceView {
  if (answer.kind === 'found') return answer;
  if (view.kind === 'found') return { ...view, isOld: true };
  if (answer.kind === 'failed') return answer;
  const { kind: _, ...reason } = answer;
  const sinceMs = view.kind === 'silent' ? view.unreachable.sinceMs : askedMs;
  return { kind: 'silent', process: target.process, unreachable: { sinceMs, ...reason } };
}

async function ask(target: MonitorTarget, signal: AbortSignal): Promise<Answer> {
  const answer = await callOperand(target, { method: 'GET', path, deadlineMs }, signal);
  if (answer.kind === 'unreachable') return answer;
  // Another tool, which has only what the contract has.
  if (isNotServed(answer.status)) return { kind: 'found', source: { kind: 'Unknown', shards: [] } };
  const error = errorIn(answer.body, false);
  if (error) return { kind: 'failed', error };
  const topology = readTopology(answer.body);
  return topology
    ? { kind: 'found', source: shapeOf(topology) }
    : { kind: 'unreachable', description: 'the answer has neither topology nor error' };
}

function shapeOf({ kind, shards }: NonNullable<ReturnType<typeof readTopology>>): SourceShape {
  return { kind: kind === 'sharded' ? 'Sharded' : 'ReplicaSet', shards };
}
