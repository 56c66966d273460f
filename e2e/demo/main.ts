// The demo: `make demo`, `make demo-sharded`. Exit code 0 only when everything was moved and both sides are equal.
import { createHash } from 'node:crypto';
import { cwd } from 'node:process';
import { carryOut } from './carry-out.ts';
import { runDemo } from './run-demo.ts';
import { Screen } from './screen.ts';

// The demo has its own cluster, so that it does not touch one that runs for tests.
process.env['CLUSTER_ID'] ??= `d${createHash('sha256').update(cwd()).digest('hex').slice(0, 5)}`;

const screen = new Screen(process.stdout);
const kind = process.argv.includes('--sharded') ? 'sharded clusters' : 'replica sets';
await carryOut(screen, {
  work: async (signal) => ({ isEqual: await runDemo(screen, kind, signal) }),
  onInterruption: (signal) => {
    screen.step(`received ${signal}: cleaning up, please wait`);
  },
});
