// The demo: `make demo`, `make demo-sharded`. Exit code 0 only when everything was moved and both sides are equal.
import { createHash } from 'node:crypto';
import { cwd } from 'node:process';
import { messageOf } from '../../service/errors.ts';
import { runDemo } from './run-demo.ts';
import { Screen } from './screen.ts';

// The demo has its own cluster, so that it does not touch one that runs for tests.
process.env['CLUSTER_ID'] ??= `d${createHash('sha256').update(cwd()).digest('hex').slice(0, 5)}`;

const screen = new Screen(process.stdout);
const interruption = new AbortController();
const interrupt = (signal: NodeJS.Signals): void => {
  if (interruption.signal.aborted) return;
  screen.step(`received ${signal}: cleaning up, please wait`);
  interruption.abort(new Error(`interrupted by ${signal}`));
};
process.on('SIGINT', interrupt).on('SIGTERM', interrupt).on('SIGHUP', interrupt);

process.exitCode = 1;
try {
  const kind = process.argv.includes('--sharded') ? 'sharded clusters' : 'replica sets';
  const isEqual = await runDemo(screen, kind, interruption.signal);
  screen.step(
    isEqual
      ? 'done: both sides are equal. Everything that the demo started has been removed'
      : 'FAILED: the two sides have not been proven equal',
  );
  process.exitCode = isEqual ? 0 : 1;
} catch (error) {
  screen.step(`FAILED: ${messageOf(error)}`);
  if (interruption.signal.aborted) process.exitCode = 130;
}
