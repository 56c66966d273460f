// A first look: `make try`. Exit code 0 only when everything was moved, and clustersync and this program both say so.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { carryOut } from './carry-out.ts';
import { runTry } from './run-try.ts';
import { Screen } from './screen.ts';

const { values } = parseArgs({
  options: {
    scale: { type: 'string', default: '1' },
    logFile: {
      type: 'string',
      default: fileURLToPath(new URL('../.artifacts/try.log', import.meta.url)),
    },
  },
});

const scale = Number(values.scale);
if (!(scale > 0 && scale < Infinity)) {
  console.error(`SCALE is ${values.scale}: set a number above 0`);
  process.exit(2);
}

const screen = new Screen(process.stdout);
await carryOut(screen, {
  work: async (signal) =>
    await runTry(
      screen,
      {
        scale,
        isInteractive:
          process.stdin.isTTY && process.stderr.isTTY && process.env['TERM'] !== 'dumb',
        logFile: values.logFile,
      },
      signal,
    ),
});
