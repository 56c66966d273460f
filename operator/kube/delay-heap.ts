interface Entry {
  readonly key: string;
  dueMs: number;
  order: number;
}

/** Keys with the time when each is due. A key occurs once: the earlier time wins. */
export class DelayHeap {
  readonly #heap: Entry[] = [];
  readonly #places = new Map<string, number>();
  #order = 0;

  get size(): number {
    return this.#heap.length;
  }

  /** When the first key is due. */
  get nextDueMs(): number | undefined {
    return this.#heap[0]?.dueMs;
  }

  add(key: string, dueMs: number): void {
    const place = this.#places.get(key);
    const entry = place === undefined ? undefined : this.#heap[place];
    if (place === undefined || !entry) {
      this.#heap.push({ key, dueMs, order: this.#order++ });
      this.#places.set(key, this.#heap.length - 1);
      this.#rise(this.#heap.length - 1);
    } else if (dueMs < entry.dueMs) {
      entry.dueMs = dueMs;
      entry.order = this.#order++;
      this.#rise(place);
    }
  }

  /** Takes the first key out, if it is due. */
  takeDue(nowMs: number): string | undefined {
    const first = this.#heap[0];
    if (!first || first.dueMs > nowMs) return undefined;
    const last = this.#heap.pop();
    this.#places.delete(first.key);
    if (last && last !== first) {
      this.#heap[0] = last;
      this.#places.set(last.key, 0);
      this.#sink();
    }
    return first.key;
  }

  clear(): void {
    this.#heap.length = 0;
    this.#places.clear();
  }

  #rise(from: number): void {
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#isBefore(place, parent)) return;
      this.#swap(place, parent);
      place = parent;
    }
  }

  #sink(): void {
    let place = 0;
    for (;;) {
      let first = place;
      for (const child of [2 * place + 1, 2 * place + 2]) {
        if (child < this.#heap.length && this.#isBefore(child, first)) first = child;
      }
      if (first === place) return;
      this.#swap(place, first);
      place = first;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const a = this.#heap[one];
    const b = this.#heap[other];
    if (!a || !b) return false;
    return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
  }

  #swap(one: number, other: number): void {
    const a = this.#heap[one];
    const b = this.#heap[other];
    if (!a || !b) return;
    this.#heap[one] = b;
    this.#heap[other] = a;
    this.#places.set(b.key, one);
    this.#places.set(a.key, other);
  }
}
