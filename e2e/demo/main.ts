// The demo: `make demo`, `make demo-sharded`. Exit code 0 only when everything was moved and both sides are equal.
import { createHash } from 'node:crypto';
import { cwd } from 'node:process';
import { messageOf } from '../../service/errors.ts';
import { runDemo } from './run-demo.ts';
import { Screen } from './screen.ts';

// A cluster of its own: one that is up for tests is left alone.
process.env['CLUSTER_ID'] ??= `d${createHash('sha256').update(cwd()).digest('hex').slice(0, 5)}`;

const screen = new Screen(process.stdout);
const interruption = new AbortController();
const interrupt = (signal: NodeJS.Signals): void => {
  if (interruption.signal.aborted) return;
  screen.step(`${signal}: cleaning up, please wait`);
  interruption.abort(new Error(`interrupted by ${signal}`));
};
process.on('SIGINT', interrupt).on('SIGTERM', interrupt).on('SIGHUP', interrupt);

process.exitCode = 1;
try {
  const kind = process.argv.includes('--sharded') ? 'sharded clusters' : 'replica sets';
  const isEqual = await runDemo(screen, kind, interruption.signal);
  screen.step(
    isEqual
      ? 'done: nothing was lost. Everything that the demo started is gone'
      : 'FAILED: the two sides are not proved to be equal',
  );
  process.exitCode = isEqual ? 0 : 1;
} catch (error) {
  screen.step(`FAILED: ${messageOf(error)}`);
  if (interruption.signal.aborted) process.exitCode = 130;
}
