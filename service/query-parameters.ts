import { SyncError } from './errors.ts';

/** Takes no parameter that would do nothing. @throws SyncError InvalidBody. */
export function requireKnown(query: URLSearchParams, known: readonly string[]): void {
  for (const name of query.keys()) {
    if (known.includes(name)) continue;
    throw new SyncError('InvalidBody', `there is no parameter ${JSON.stringify(name)}`);
  }
}

/** A parameter that is `true` or `false`; false if it is absent. @throws SyncError InvalidBody. */
export function booleanIn(query: URLSearchParams, name: string): boolean {
  const text = query.get(name) ?? 'false';
  if (text === 'true' || text === 'false') return text === 'true';
  throw new SyncError('InvalidBody', `${name} is true or false`);
}
