/** What a tool is at a moment, in no dialect. */
export interface ToolView {
  readonly state:
    'INITIALIZING' | 'IDLE' | 'RUNNING' | 'PAUSED' | 'COMMITTING' | 'COMMITTED' | 'REVERSING';
  readonly isCopied: boolean;
  readonly copiedBytes: number;
  readonly isReversed: boolean;
  readonly lagSeconds: number;
  readonly events: number;
}

/** Why a command was not taken. */
export interface Refusal {
  readonly error: string;
  readonly errorDescription: string;
}

/** How long things take. */
export interface ToolTimes {
  /** After its birth, before it knows its state. */
  readonly initializingMs: number;
  readonly copyMs: number;
  /** The commit, or the reversal. */
  readonly turnMs: number;
}

export const totalBytes = 1_000_000_000;

/** A sync tool that goes through the states of the contract by the clock, and moves no data. */
export class SyncTool {
  readonly #times: ToolTimes;
  readonly #clockMs: () => number;
  readonly #bornMs: number;
  #state: 'IDLE' | 'RUNNING' | 'PAUSED' | 'COMMITTING' | 'REVERSING' = 'IDLE';
  /** When it came into this state. */
  #sinceMs: number;
  /** How long it has copied before. */
  #ranMs = 0;
  #isReversed = false;
  /** Nobody misses the copy, however short it is: it ends when somebody has been told of it. */
  #isCopyTold = false;
  #skippedMs = 0;

  constructor(times: ToolTimes, nowMs: () => number = () => performance.now()) {
    this.#times = times;
    this.#clockMs = nowMs;
    this.#bornMs = this.#sinceMs = nowMs();
  }

  /** Continues as if this time had passed. */
  skip(ms: number): void {
    this.#skippedMs += ms;
  }

  /** What it answers to who asks for its progress. */
  ask(): ToolView {
    const view = this.#view();
    if (view.state === 'RUNNING' && !view.isCopied) this.#isCopyTold = true;
    return view;
  }

  /** Takes a command of the API, or says why not. Undefined for names that are none. */
  take(name: string): 'taken' | Refusal | undefined {
    const { state, isCopied } = this.#view();
    const isRunning = state === 'RUNNING';
    switch (name) {
      case 'start':
        return this.#go('RUNNING', state === 'IDLE');
      case 'pause':
        return this.#go('PAUSED', isRunning);
      case 'resume':
        return this.#go('RUNNING', state === 'PAUSED');
      case 'commit':
        return this.#go('COMMITTING', isRunning && isCopied);
      case 'reverse':
        return this.#go('REVERSING', state === 'COMMITTED');
      default:
        return undefined;
    }
  }

  #nowMs(): number {
    return this.#clockMs() + this.#skippedMs;
  }

  #view(): ToolView {
    const nowMs = this.#nowMs();
    const { copyMs } = this.#times;
    const ranMs = this.#ranMs + (this.#state === 'RUNNING' ? nowMs - this.#sinceMs : 0);
    const isCopied = this.#isCopyTold && ranMs >= copyMs;
    return {
      state: this.#stateAt(nowMs),
      isCopied,
      copiedBytes: isCopied ? totalBytes : Math.floor(Math.min(1, ranMs / copyMs) * totalBytes),
      isReversed: this.#isReversed,
      lagSeconds: Math.floor(nowMs / 1_000) % 4,
      events: Math.max(0, Math.floor(ranMs - copyMs)),
    };
  }

  #stateAt(nowMs: number): ToolView['state'] {
    if (nowMs - this.#bornMs < this.#times.initializingMs) return 'INITIALIZING';
    const isTurned = nowMs - this.#sinceMs >= this.#times.turnMs;
    if (this.#state === 'COMMITTING' && isTurned) return 'COMMITTED';
    if (this.#state === 'REVERSING' && isTurned) this.#enter('RUNNING');
    return this.#state;
  }

  #go(next: 'RUNNING' | 'PAUSED' | 'COMMITTING' | 'REVERSING', isAllowed: boolean) {
    if (!isAllowed) {
      const errorDescription = `not allowed in ${this.#view().state}`;
      return { error: 'InvalidStateTransition', errorDescription };
    }
    if (next === 'REVERSING') this.#isReversed = !this.#isReversed;
    this.#enter(next);
    return 'taken';
  }

  #enter(next: 'RUNNING' | 'PAUSED' | 'COMMITTING' | 'REVERSING'): void {
    const nowMs = this.#nowMs();
    if (this.#state === 'RUNNING') this.#ranMs += nowMs - this.#sinceMs;
    this.#state = next;
    this.#sinceMs = nowMs;
  }
}
