const reasonKey = Symbol.for('clustersync.skipReason');

/** Skips the running test, or in a `before` hook its whole suite, and says why: a skip without a reason fails the run. */
export function skipBecause(context: Mocha.Context, reason: string): never {
  const runnable = context.runnable() as Mocha.Hook | Mocha.Test;
  const holder = runnable.type === 'hook' ? runnable.parent : runnable;
  if (holder !== undefined) Object.assign(holder, { [reasonKey]: reason });
  return context.skip();
}

/** Why a test was skipped; undefined when nobody said so. */
export function skipReason(test: Mocha.Test): string | undefined {
  for (let at: Mocha.Test | Mocha.Suite | undefined = test; at !== undefined; at = at.parent) {
    const reason: unknown = Reflect.get(at, reasonKey);
    if (typeof reason === 'string') return reason;
  }
  return undefined;
}
