import { setTimeout as sleep } from 'node:timers/promises';
import { defaultDeadlineMs } from './default-deadline.ts';

/** Waits until the condition holds, looking every 20 ms. Fails, naming what was waited for, after the deadline. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadlineMs = defaultDeadlineMs,
): Promise<void> {
  const endMs = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await sleep(20);
  }
}
