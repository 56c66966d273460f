import { inspect } from 'node:util';

/** After the last test, how long until it is an error that the process has not ended by itself. */
const endDeadlineMs = Number(process.env['MOCHA_END_DEADLINE_MS'] ?? 10_000);

// Mocha itself would let it pass.
process.on('unhandledRejection', (reason) => {
  throw reason instanceof Error ? reason : new Error(`unhandled rejection: ${inspect(reason)}`);
});

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
