/** Finds the properties of an object that have changed, by comparing the JSON sent for them. */
export class ChangedParts<T extends object> {
  readonly #sent = new Map<string, string>();

  /** The parts to send: those whose JSON differs from the last time. Undefined if there are none. */
  take(whole: T): Partial<T> | undefined {
    const changed: [string, unknown][] = [];
    for (const [name, value] of Object.entries(whole)) {
      const text = JSON.stringify(value);
      if (this.#sent.get(name) === text) continue;
      this.#sent.set(name, text);
      changed.push([name, value]);
    }
    return changed.length === 0 ? undefined : (Object.fromEntries(changed) as Partial<T>);
  }
}
