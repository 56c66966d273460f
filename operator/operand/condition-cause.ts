/** Why something that is wanted has not come true. */
export interface ConditionCause {
  /** CamelCase: the reason of the conditions that report it. */
  readonly reason: string;
  /** A sentence for a person. */
  readonly message: string;
  /**
   * waiting: it is on its way. warning: it should pass without intervention, but somebody may want to know. stalled: it
   * does not pass until somebody intervenes.
   */
  readonly level: 'waiting' | 'warning' | 'stalled';
}

const order = { waiting: 0, warning: 1, stalled: 2 } as const;

/** The gravest cause; the first of several that are equally grave. */
export function gravestCause(
  causes: readonly (ConditionCause | undefined)[],
): ConditionCause | undefined {
  return causes.reduce((found, each) => {
    if (!found || !each) return found ?? each;
    return order[each.level] > order[found.level] ? each : found;
  }, undefined);
}
