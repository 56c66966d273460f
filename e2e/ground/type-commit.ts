import { stripVTControlCharacters } from 'node:util';
import { defaultDeadlineMs } from './default-deadline.ts';
import { until } from './until.ts';

/** Readiness lapses where a proof is late: on a busy machine once, not again and again. */
const maxAttempts = 5;

/** A terminal in which `clustersync run` is at work. */
export interface CommitTerminal {
  /** Everything that was shown. */
  output(): Promise<string>;
  readonly hasEnded: boolean;
  type(keys: string): void;
}

/**
 * Types `commit` as a person is to: when the command asks for it, and its line `commit` says `ready`. Where that has changed just then,
 * the command says so, does nothing, and asks again. Returns when it has ended.
 */
export async function typeCommit(
  terminal: CommitTerminal,
  deadlineMs = defaultDeadlineMs,
): Promise<void> {
  const refusals = async (): Promise<number> =>
    (await terminal.output()).split('not yet, nothing done').length - 1;
  const hasEnded = (): boolean => terminal.hasEnded;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    await until(
      'it asks for the commit',
      async () => hasEnded() || isAsking(await terminal.output()),
      deadlineMs,
    );
    if (hasEnded()) return;
    const before = await refusals();
    terminal.type('commit\r');
    await until(
      'it ends after the commit, or is not ready any more',
      async () => hasEnded() || (await refusals()) > before,
      deadlineMs,
    );
    if (hasEnded()) return;
  }
  throw new Error(`${maxAttempts} times it was ready, and then not: ${await terminal.output()}`);
}

/** Whether it asks after its last word on an answer: what was typed before it asks is no answer. */
function isAsking(shown: string): boolean {
  const last = stripVTControlCharacters(shown).split('nothing done').at(-1) ?? '';
  const readiness = [...last.matchAll(/\bcommit +(ready|not yet)\b/g)].at(-1)?.[1];
  return readiness === 'ready' && last.includes('Type commit and press Enter');
}
