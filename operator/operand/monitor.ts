import { isDeepStrictEqual } from 'node:util';
import { messageOf, toSyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import type { ApiTarget } from '../../sync-api/http-client.ts';
import { systemClock, type Clock } from '../kube/clock.ts';
import { Deadline } from '../kube/deadline.ts';
import type { ApiError, Unreachable } from './http-api.ts';
import {
  formerOnce,
  lastOf,
  retryDelayMs,
  type CommandState,
  type Observation,
  type ProgressAnswer,
} from './observation.ts';
import { QuestionTurns } from './question-turns.ts';

/** A process to observe. */
export interface MonitorTarget extends ApiTarget {
  /** Tells one process from the next: what was known about a previous one is forgotten. */
  readonly process: string;
}

/** A command for an operand. */
export interface Command<C extends string> {
  readonly name: C;
  readonly body: object;
  /** In addition to those that every request has. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Tells one request for a command from another one for the same. */
  readonly request?: string;
}

/** The result of a command. */
export type CommandOutcome =
  { readonly kind: 'taken' } | { readonly kind: 'refused'; readonly error: ApiError };

/** How to use the API of a kind of operand. Both calls reject only with the signal's reason. */
export interface OperandApi<P, C extends string> {
  readonly askProgress: (
    target: ApiTarget,
    signal: AbortSignal,
  ) => Promise<ProgressAnswer<P> | Unreachable>;
  readonly sendCommand: (
    target: ApiTarget,
    command: Command<C>,
    how: {
      /** Called once connected: the command is not sent if it throws. */
      readonly assertMaySend: () => void;
      readonly signal: AbortSignal;
    },
  ) => Promise<CommandOutcome>;
  /** Time from one answer to the next request. */
  readonly intervalMs: (answer: ProgressAnswer<P> | undefined) => number;
}

/** What a monitor needs. */
export interface MonitorOptions<P, C extends string> {
  readonly api: OperandApi<P, C>;
  /** Receives the key of an object when there is news about it. */
  readonly onChange: (key: string) => void;
  readonly logger: Logger;
  /** Called with the object's key before a command is sent, and again once connected: if false, the command is not sent. */
  readonly mayCommand: (key: string) => boolean;
  /** When requests may begin: shared with others that ask pods. Its own by default. */
  readonly turns?: QuestionTurns;
  readonly clock?: Clock;
}

interface Entry<P, C extends string> {
  readonly target: MonitorTarget;
  readonly stop: AbortController;
  readonly observation: () => Observation<P, C>;
  readonly send: (command: Command<C>) => void;
}

/** How long a process is queried often after a command, however seldom it is queried otherwise. */
const watchedMs = 60_000;
/** The longest interval in that time. */
const watchedIntervalMs = 1_000;

/**
 * Asks the processes of operands for their progress, each at its own interval as far as there are turns for that, and
 * sends them commands, so that reconciling waits for none of them.
 */
export class OperandMonitor<P, C extends string> implements AsyncDisposable {
  readonly #options: MonitorOptions<P, C>;
  readonly #clock: Clock;
  readonly #turns: QuestionTurns;
  readonly #entries = new Map<string, Map<string, Entry<P, C>>>();
  readonly #tasks = new Set<Promise<void>>();

  constructor(options: MonitorOptions<P, C>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#turns = options.turns ?? new QuestionTurns(this.#clock);
  }

  /** Observes exactly these processes of an object, by their names. */
  watch(key: string, targets: ReadonlyMap<string, MonitorTarget>): void {
    const entries = this.#entries.get(key) ?? new Map<string, Entry<P, C>>();
    for (const [id, entry] of entries) {
      if (isSameTarget(entry.target, targets.get(id))) continue;
      entry.stop.abort();
      entries.delete(id);
    }
    for (const [id, target] of targets) {
      if (!entries.has(id)) entries.set(id, this.#begin(key, target));
    }
    if (entries.size > 0) this.#entries.set(key, entries);
    else this.#entries.delete(key);
  }

  /** Stops observing an object. */
  forget(key: string): void {
    this.watch(key, new Map());
  }

  /** What is known about an object's processes. */
  observations(key: string): ReadonlyMap<string, Observation<P, C>> {
    const entries = this.#entries.get(key) ?? new Map<string, Entry<P, C>>();
    return new Map([...entries].map(([id, { observation }]) => [id, observation()]));
  }

  /** Sends a command in the background; its result becomes part of the observation. Only one at a time is sent. */
  send(key: string, id: string, command: Command<C>): void {
    this.#entries.get(key)?.get(id)?.send(command);
  }

  /** Stops everything; resolves when nothing is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const key of [...this.#entries.keys()]) this.forget(key);
    await Promise.all(this.#tasks);
  }

  #begin(key: string, target: MonitorTarget): Entry<P, C> {
    const stop = new AbortController();
    const { signal } = stop;
    let observation: Observation<P, C> = {
      process: target.process,
      answer: undefined,
      askedMs: 0,
      unreachable: undefined,
      command: undefined,
    };
    const update = (news: Partial<Observation<P, C>>): void => {
      if (signal.aborted) return;
      const before = observation;
      observation = { ...observation, ...news };
      if (!isSameNews(before, observation)) this.#options.onChange(key);
    };
    const pause = new Pause(this.#clock);
    this.#track(signal, async () => {
      while (!signal.aborted) {
        await this.#ask(key, target, () => observation, update, signal);
        await pause.wait(this.#intervalMs(observation), signal);
      }
    });
    const send = (command: Command<C>): void => {
      if (observation.command?.kind === 'sending' || !this.#options.mayCommand(key)) return;
      const former = lastOf(observation, command.name);
      const formerCommands = formerOnce(observation, command.name);
      update({ command: { ...identityOf(command), kind: 'sending' }, formerCommands });
      this.#track(signal, async () => {
        update({ command: await this.#send(key, target, command, former, signal) });
        pause.end();
      });
    };
    return { target, stop, send, observation: () => observation };
  }

  #intervalMs({ answer, command }: Observation<P, C>): number {
    const ownMs = this.#options.api.intervalMs(answer);
    const isWatched =
      command?.kind === 'sending' ||
      (command?.kind === 'taken' && this.#clock.wallMs() - command.endedMs < watchedMs);
    return isWatched ? Math.min(ownMs, watchedIntervalMs) : ownMs;
  }

  async #ask(
    key: string,
    target: MonitorTarget,
    current: () => Observation<P, C>,
    update: (news: Partial<Observation<P, C>>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    let askedMs = 0;
    const answer = await this.#turns.ask(key, signal, async () => {
      askedMs = this.#clock.wallMs();
      try {
        return await this.#options.api.askProgress(target, signal);
      } catch (error) {
        // An answer that nobody can read must not end the questions: the last one would count as current for ever.
        signal.throwIfAborted();
        this.#options.logger.error({ err: error }, 'the answer cannot be read');
        return { kind: 'unreachable', description: messageOf(error) } as const;
      }
    });
    if (answer.kind === 'unreachable') {
      const sinceMs = current().unreachable?.sinceMs ?? askedMs;
      const { kind: _, ...reason } = answer;
      update({ unreachable: { sinceMs, ...reason } });
    } else {
      update({ answer, askedMs, unreachable: undefined });
    }
  }

  async #send(
    key: string,
    target: MonitorTarget,
    command: Command<C>,
    former: CommandState<C> | undefined,
    signal: AbortSignal,
  ): Promise<CommandState<C>> {
    const { api, logger } = this.#options;
    const { name, request } = command;
    const identity = identityOf(command);
    let answer: CommandOutcome;
    try {
      answer = await api.sendCommand(target, command, {
        assertMaySend: () => {
          if (!this.#options.mayCommand(key))
            throw new Error('another process may command it by now');
        },
        signal,
      });
    } catch (error) {
      // As what is being sent, it would keep every further command from the process.
      signal.throwIfAborted();
      const { name: errorName, message } = toSyncError(error);
      const known = { name: errorName, description: message, isLasting: false } as const;
      answer = { kind: 'refused', error: { ...known, isUnanswered: true } };
    }
    const endedMs = this.#clock.wallMs();
    if (answer.kind === 'taken') {
      logger.info({ command: name, process: target.process }, 'command taken');
      return { ...identity, kind: 'taken', endedMs };
    }
    const { error } = answer;
    const isRepeated = former?.kind === 'refused' && former.request === request;
    const attempts = isRepeated ? former.attempts + 1 : 1;
    const retryInMs = Math.round(retryDelayMs(error, attempts - 1));
    logger.warn(
      { command: name, process: target.process, error: error.name, retryInMs },
      `command refused: ${error.description}`,
    );
    return {
      ...identity,
      kind: 'refused',
      error,
      attempts,
      endedMs,
      retryAtMs: endedMs + retryInMs,
    };
  }

  /** Runs a task of an entry; it ends with the entry. */
  #track(signal: AbortSignal, task: () => Promise<void>): void {
    const running = task()
      .catch((error: unknown) => {
        if (!signal.aborted) this.#options.logger.error({ err: error }, 'monitor failed');
      })
      .finally(() => {
        this.#tasks.delete(running);
      });
    this.#tasks.add(running);
  }
}

/** A wait that can be ended early. */
class Pause {
  readonly #clock: Clock;
  #end: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends the current wait, if there is one. */
  end(): void {
    this.#end();
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    using deadline = new Deadline(signal, ms, this.#clock);
    if (deadline.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#end = () => {
      resolve(undefined);
    };
    deadline.signal.addEventListener('abort', this.#end, { once: true });
    await promise;
  }
}

function identityOf<C extends string>({
  name,
  request,
}: Command<C>): Pick<CommandState<C>, 'name' | 'request'> {
  return { name, ...(request !== undefined && { request }) };
}

function isSameTarget(one: MonitorTarget, other: MonitorTarget | undefined): boolean {
  return isDeepStrictEqual(one, other);
}

/**
 * Equality except for when it was asked, which is news only if a command waits for it. That a command is being sent is not news
 * either: nothing can be done before its result is known.
 */
function isSameNews<P, C extends string>(
  { askedMs: oneMs, ...one }: Observation<P, C>,
  { askedMs: otherMs, ...other }: Observation<P, C>,
): boolean {
  if (other.command?.kind === 'sending' && one.command?.kind !== 'sending') return true;
  if (
    other.command?.kind === 'taken' &&
    oneMs <= other.command.endedMs &&
    otherMs > other.command.endedMs
  ) {
    return false;
  }
  return isDeepStrictEqual(one, other);
}
