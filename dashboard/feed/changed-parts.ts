/** The properties of an object that are others than those of a former one, by the JSON that was sent of them. */
export class ChangedParts<T extends object> {
  readonly #sent = new Map<string, string>();

  /** What is to be sent: the parts whose JSON is another than the last time. Undefined where there are none. */
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
