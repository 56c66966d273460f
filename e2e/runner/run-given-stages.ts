// For the tests of the test runner: runs the stages that it is given as JSON.
import { runTests } from './main.ts';
import type { Stage } from './run-stages.ts';

await runTests(JSON.parse(process.argv[2] ?? '[]') as readonly Stage[]);
