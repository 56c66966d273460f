/** What can befall one write of a program. */
export const writeFaults = [
  'is refused',
  'is carried out, but not acknowledged',
  'is lost with its connection',
  'is carried out, and its answer lost',
  'is lost with its process',
  'is carried out, and its process killed before the answer',
] as const;

export type WriteFault = (typeof writeFaults)[number];

/** Which write meets which fault. */
export interface PlannedFault {
  readonly fault: WriteFault;
  /** The how many-th, from 1 on. */
  readonly n: number;
}

/** A planned fault. */
export interface Plan extends PlannedFault {
  /** Ends the process that sends the write. */
  readonly kill: () => void;
}

/** The writes of a program, in the order of sending, and the fault that one of them meets. */
export class PlannedWrites {
  readonly #counts = new Map<string, number>();
  #order: string[] = [];
  #plan: Plan | undefined;
  #met: string | undefined;

  /** Forgets what was sent, and lets one of the writes from now on meet a fault, or none. */
  begin(plan?: Plan): void {
    this.#counts.clear();
    this.#order = [];
    this.#plan = plan;
    this.#met = undefined;
  }

  get plan(): Plan | undefined {
    return this.#plan;
  }

  get order(): readonly string[] {
    return this.#order;
  }

  /** The write that has met the planned fault; undefined while there is none. */
  get met(): string | undefined {
    return this.#met;
  }

  /**
   * Notes a write.
   * @param most - how many of the same are counted: of what comes at intervals, a program sends as many as it takes long.
   * @returns the plan if it is the write that meets the fault.
   */
  note(write: string, most = Infinity): Plan | undefined {
    const nth = (this.#counts.get(write) ?? 0) + 1;
    this.#counts.set(write, nth);
    if (nth > most) return undefined;
    this.#order.push(write);
    const plan = this.#plan;
    if (this.#met !== undefined || plan?.n !== this.#order.length) return undefined;
    this.#met = write;
    return plan;
  }
}

/** What becomes of a write on its way through a proxy. */
type Fate<Given extends unknown[], Answer> =
  | { readonly kind: 'kept'; readonly answer?: Answer }
  | { readonly kind: 'delivered'; readonly onAnswer: (...given: Given) => Answer | undefined };

/** Carries a plan out, in the terms of a proxy. @param answers - what the sender is told where the fault is an answer. */
export function fateOf<Given extends unknown[], Answer>(
  { fault, kill }: Plan,
  answers: {
    readonly refusal: () => Answer;
    readonly unacknowledged: (...given: Given) => Answer;
  },
): Fate<Given, Answer> {
  switch (fault) {
    case 'is refused':
      return { kind: 'kept', answer: answers.refusal() };
    case 'is carried out, but not acknowledged':
      return { kind: 'delivered', onAnswer: answers.unacknowledged };
    case 'is lost with its connection':
      return { kind: 'kept' };
    case 'is carried out, and its answer lost':
      return { kind: 'delivered', onAnswer: () => undefined };
    case 'is lost with its process':
      kill();
      return { kind: 'kept' };
    case 'is carried out, and its process killed before the answer':
      return {
        kind: 'delivered',
        onAnswer: () => {
          kill();
          return undefined;
        },
      };
  }
}
