import { inspect } from 'node:util';

/** After the last test, how long until it is an error that the process has not ended by itself. */
const endDeadlineMs = Number(process.env['MOCHA_END_DEADLINE_MS'] ?? 10_000);

// Mocha itself would let it pass.
process.on('unhandledRejection', (reason) => {
  throw reason instanceof Error ? reason : new Error(`unhandled rejection: ${inspect(reason)}`);
});

// When the test runner is killed, it cannot end its children any more.
const runnerId = Number(process.env['TEST_RUNNER_PID']);
if (runnerId > 0) {
  setInterval(() => {
    if (!isRunning(runnerId)) process.kill(process.pid, 'SIGTERM');
  }, 1000).unref();
}

function isRunning(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch {
    return false;
  }
}

/** Hooks around all tests: what a test leaves open is an error, not a process that hangs. */
export const mochaHooks: Mocha.RootHookObject = {
  afterAll(done) {
    setTimeout(() => {
      const open = process.getActiveResourcesInfo().join(', ');
      process.stderr.write(`the tests are over, but something is still open: ${open}\n`);
      // Mocha sets the exit code of its tests when the process ends.
      process.once('exit', () => {
        process.exitCode = 1;
      });
      process.exit();
    }, endDeadlineMs).unref();
    // A rejection that the last test has left behind is reported before the next turn of the event loop.
    setImmediate(done);
  },
};
