import assert from 'node:assert/strict';

/** Something that may happen next. */
export interface Happening<M> {
  readonly what: string;
  readonly next: M;
}

/** A state that was reached: how it was come to first, and the states that may follow. By their numbers. */
interface Reached<M> {
  readonly model: M;
  readonly from: number;
  readonly what: string;
  readonly next: number[];
}

/** Every state of a model that can be reached from its beginning. */
export class StateSpace<M> {
  readonly #states: Reached<M>[] = [];
  readonly #kinds = new Set<string>();

  /**
   * Explores a model breadth first: the way to each state is one of the shortest.
   * @param most - rejects more states than this: the model is not bounded as it is meant to be.
   * @param isWrong - the search ends at the first such state.
   */
  constructor(
    beginning: M,
    happenings: (model: M) => readonly Happening<M>[],
    {
      most = 500_000,
      isWrong = () => false,
    }: { readonly most?: number; readonly isWrong?: (model: M) => boolean } = {},
  ) {
    const numbers = new Map<string, number>();
    const add = ({ what, next: model }: Happening<M>, from: number): number => {
      const key = JSON.stringify(model);
      const known = numbers.get(key);
      if (known !== undefined) return known;
      const number = this.#states.length;
      assert.ok(number < most, `more than ${most} states`);
      numbers.set(key, number);
      this.#states.push({ model, from, what, next: [] });
      return number;
    };
    add({ what: 'the beginning', next: beginning }, -1);
    for (const [number, { model, next }] of this.#states.entries()) {
      if (isWrong(model)) break;
      for (const happening of happenings(model)) {
        this.#kinds.add(happening.what);
        next.push(add(happening, number));
      }
    }
  }

  get size(): number {
    return this.#states.length;
  }

  /** Everything that happens somewhere, sorted. */
  get kinds(): readonly string[] {
    return [...this.#kinds].sort();
  }

  /** What leads to a state of a kind, and that state; undefined if there is none. */
  wayTo(isSo: (model: M) => boolean): string | undefined {
    const found = this.#states.findIndex(({ model }) => isSo(model));
    return found < 0 ? undefined : this.#storyOf(found);
  }

  /** What leads to a state of a kind from which one of another kind can be reached; undefined if there is none. */
  wayToBefore(isSo: (model: M) => boolean, isLater: (model: M) => boolean): string | undefined {
    const leading = this.#leadingTo(isLater);
    const found = this.#states.findIndex(({ model }, number) => leading.has(number) && isSo(model));
    return found < 0 ? undefined : this.#storyOf(found);
  }

  /** What leads to a state from which none of a kind can be reached; undefined if there is none. */
  wayToStuck(isEnd: (model: M) => boolean): string | undefined {
    const leading = this.#leadingTo(isEnd);
    const found = this.#states.findIndex((_, number) => !leading.has(number));
    return found < 0 ? undefined : this.#storyOf(found);
  }

  /** The numbers of the states from which one of a kind can be reached, its own among them. */
  #leadingTo(isEnd: (model: M) => boolean): ReadonlySet<number> {
    const before = this.#states.map((): number[] => []);
    const found = new Set<number>();
    for (const [number, { model, next }] of this.#states.entries()) {
      for (const each of next) before[each]?.push(number);
      if (isEnd(model)) found.add(number);
    }
    for (const number of found) for (const each of before[number] ?? []) found.add(each);
    return found;
  }

  #storyOf(number: number): string {
    const story: string[] = [];
    let at = this.#states[number];
    const end = JSON.stringify(at?.model);
    for (; at; at = this.#states[at.from]) story.unshift(at.what);
    return `${story.join('; ')}: ${end}`;
  }
}
