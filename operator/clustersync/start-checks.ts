import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../service/logger.ts';
import { isNotServed } from '../../sync-api/answer-error.ts';
import { readCheck, type ReportedCheck } from '../../sync-api/check-answer.ts';
import type { StartBody } from '../../sync-api/json.ts';
import { systemClock, type Clock } from '../kube/clock.ts';
import { Deadline } from '../kube/deadline.ts';
import { actionFor, callOperand, errorIn, type ApiError } from '../operand/http-api.ts';
import type { MonitorTarget } from '../operand/monitor.ts';
import { QuestionTurns } from '../operand/question-turns.ts';
import { keptFindings, type KeptFindings } from './kept-findings.ts';

/** A question to a syncer: what would a start with this body find? */
export interface CheckRequest {
  readonly target: MonitorTarget;
  readonly body: StartBody;
  /** Identifies what the answer depends on. */
  readonly inputsHash: string;
  /** After this time the check counts as failed. */
  readonly deadlineMs: number;
  /** Answers to questions before that do not count: milliseconds since 1970. */
  readonly notBeforeMs: number;
}

/** What a syncer has answered. Times are milliseconds since 1970. */
export type CheckView =
  | { readonly kind: 'unknown' }
  | ({
      /** The process that was asked. */
      readonly process: string;
      readonly inputsHash: string;
      readonly askedMs: number;
    } & CheckResult);

/** What has become of a check. */
export type CheckResult =
  | ({ readonly kind: 'found'; readonly canStart: boolean } & KeptFindings)
  /** Another tool, which has only what the contract has, or an older one. */
  | { readonly kind: 'unsupported' }
  | { readonly kind: 'failed'; readonly error: ApiError };

/** What asking needs. */
export interface StartChecksOptions {
  /** Receives the key of an object when its check has ended. */
  readonly onChange: (key: string) => void;
  readonly logger: Logger;
  readonly clock?: Clock;
}

interface Entry {
  request: CheckRequest;
  readonly stop: AbortController;
  view: CheckView;
  isAsking: boolean;
}

const path = '/api/v1/check';
/** A check takes long: it must not take the turns of other questions. */
const limits = { perNamespace: 20, underWay: 100 } as const;

const unknown: CheckView = { kind: 'unknown' };

/** Whether an answer is one to this question. */
export function isSettled(
  view: CheckView,
  request: Pick<CheckRequest, 'target' | 'inputsHash' | 'notBeforeMs'>,
): view is Exclude<CheckView, { readonly kind: 'unknown' }> {
  return (
    isAnswer(view, request) && (view.kind === 'unsupported' || view.askedMs >= request.notBeforeMs)
  );
}

/** The same, however old the answer is. */
export function isAnswer(
  view: CheckView,
  { target, inputsHash }: Pick<CheckRequest, 'target' | 'inputsHash'>,
): view is Exclude<CheckView, { readonly kind: 'unknown' }> {
  if (view.kind === 'unknown') return false;
  // The same process never learns to check.
  return view.kind === 'unsupported'
    ? view.process === target.process
    : view.inputsHash === inputsHash;
}

/**
 * The checks before starts of ClusterSyncs, which their syncers carry out where they run. Asks in the background, one syncer of each
 * object, and once for each question: a check reads much of both deployments.
 */
export class StartChecks implements AsyncDisposable {
  readonly #options: StartChecksOptions;
  readonly #clock: Clock;
  readonly #turns: QuestionTurns;
  readonly #entries = new Map<string, Entry>();
  readonly #tasks = new Set<Promise<void>>();

  constructor(options: StartChecksOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#turns = new QuestionTurns(this.#clock, limits);
  }

  /** The last answer for an object, to whatever question. */
  view(key: string): CheckView {
    return this.#entries.get(key)?.view ?? unknown;
  }

  /**
   * Asks unless it is being asked, or the answer is known.
   * @param request - undefined if nobody wants to know: then no more requests are sent, since commands wait for a check that is under
   * way; what is known stays.
   */
  watch(key: string, request: CheckRequest | undefined): void {
    if (!request) {
      this.#stopAsking(key);
      return;
    }
    const entry = this.#entryOf(key, request);
    if (entry.isAsking || isSettled(entry.view, request)) return;
    entry.request = request;
    entry.isAsking = true;
    const running = this.#ask(key, entry)
      .catch((error: unknown) => {
        if (!entry.stop.signal.aborted)
          this.#options.logger.error({ err: error, object: key }, 'the check failed');
      })
      .finally(() => {
        this.#tasks.delete(running);
      });
    this.#tasks.add(running);
  }

  /** Stops asking for an object, and forgets what was answered. */
  forget(key: string): void {
    this.#entries.get(key)?.stop.abort();
    this.#entries.delete(key);
  }

  /** Stops everything; resolves when nothing is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const key of [...this.#entries.keys()]) this.forget(key);
    await Promise.all(this.#tasks);
  }

  #stopAsking(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry?.isAsking) return;
    entry.stop.abort();
    this.#entries.set(key, { ...entry, stop: new AbortController(), isAsking: false });
  }

  /** What was known before stays until there is another answer. */
  #entryOf(key: string, request: CheckRequest): Entry {
    const known = this.#entries.get(key);
    if (known && isSameQuestion(known.request, request)) return known;
    known?.stop.abort();
    const entry = {
      request,
      stop: new AbortController(),
      view: known?.view ?? unknown,
      isAsking: false,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  async #ask(key: string, entry: Entry): Promise<void> {
    const { request, stop } = entry;
    const { target, inputsHash, deadlineMs } = request;
    let askedMs = this.#clock.wallMs();
    using deadline = new Deadline(stop.signal, deadlineMs, this.#clock);
    let result: CheckResult;
    try {
      result = await this.#turns.ask(key, deadline.signal, async () => {
        askedMs = this.#clock.wallMs();
        return await ask(request, deadline.signal);
      });
    } catch (error) {
      if (!deadline.isExpired || stop.signal.aborted) throw error;
      result = unanswered(`no answer within ${deadlineMs} ms`);
    }
    if (stop.signal.aborted) return;
    entry.isAsking = false;
    entry.view = { ...result, process: target.process, inputsHash, askedMs };
    if (result.kind === 'failed') {
      const { name, description } = result.error;
      this.#options.logger.warn({ object: key, error: name }, `the check failed: ${description}`);
    }
    this.#options.onChange(key);
  }
}

function isSameQuestion(one: CheckRequest, other: CheckRequest): boolean {
  return one.inputsHash === other.inputsHash && isDeepStrictEqual(one.target, other.target);
}

async function ask(
  { target, body, deadlineMs }: CheckRequest,
  signal: AbortSignal,
): Promise<CheckResult> {
  const answer = await callOperand(target, { method: 'POST', path, body, deadlineMs }, signal);
  if (answer.kind === 'unreachable') return unanswered(answer.description);
  if (isNotServed(answer.status)) return { kind: 'unsupported' };
  const error = errorIn(answer.body, false);
  if (error) return ofError(error);
  const check = readCheck(answer.body);
  return check ? found(check) : unanswered('the answer has neither findings nor an error');
}

function found({ canStart, findings }: ReportedCheck): CheckResult {
  const isBlocked = findings.some(({ severity }) => severity === 'blocker');
  return { kind: 'found', canStart: canStart && !isBlocked, ...keptFindings(findings) };
}

/** A start would be refused with the same error if it lasts, unless that is about the check itself. */
function ofError(error: ApiError): CheckResult {
  const { name, description, isLasting } = error;
  if (!isLasting || name === 'InvalidStateTransition') return { kind: 'failed', error };
  const action = actionFor(name) ?? '';
  const finding = { severity: 'blocker', name, message: description, action } as const;
  return found({ canStart: false, findings: [finding] });
}

function unanswered(description: string): CheckResult {
  return { kind: 'failed', error: { name: 'SyncerUnreachable', description, isLasting: false } };
}
