import { setTimeout as sleep } from 'node:timers/promises';
import { defaultDeadlineMs } from './default-deadline.ts';

/** Waits until the condition holds, and checks it every 20 ms. After the deadline it fails, and names what it waited for. */
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
