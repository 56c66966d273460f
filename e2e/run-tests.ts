// Runs all tests: `npm test`. With names of stages, those alone: `npm test -- lint 'unit tests'`.
// TEST_LIMIT_FACTOR multiplies the time limits, for a slow machine.
import { runTests } from './runner/main.ts';
import type { Stage } from './runner/run-stages.ts';

const limitFactor = Number(process.env['TEST_LIMIT_FACTOR'] ?? 1);

const stages: readonly Stage[] = [
  { name: 'lint', work: { kind: 'check' }, ...npmScript('lint', 10) },
  { name: 'types', work: { kind: 'check' }, ...npmScript('typecheck', 5), isRequired: true },
  { name: 'formatting', work: { kind: 'check' }, ...npmScript('format:check', 5) },
  { name: 'unused code', work: { kind: 'check' }, ...npmScript('unused', 5) },
  { name: 'unit tests', work: { kind: 'mocha' }, ...npmScript('test:unit', 10) },
  {
    name: 'integration tests',
    // They wait for servers more than they compute.
    work: { kind: 'mocha files', pattern: 'e2e/**/*.integration.ts', jobs: 3 },
    ...npmScript('mocha:integration', 30),
  },
  { name: 'end-to-end tests', work: { kind: 'mocha' }, ...npmScript('test:e2e', 45) },
];

function npmScript(script: string, limitMinutes: number): Pick<Stage, 'command' | 'limitSeconds'> {
  return {
    command: ['npm', 'run', '--silent', script, '--'],
    limitSeconds: limitMinutes * 60 * limitFactor,
  };
}

const names = process.argv.slice(2);
const unknown = names.filter((name) => !stages.some((stage) => stage.name === name));
if (unknown.length > 0) throw new Error(`there is no stage called ${unknown.join(', ')}`);
await runTests(names.length === 0 ? stages : stages.filter(({ name }) => names.includes(name)));
