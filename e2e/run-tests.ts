// Runs all tests: `npm test`. With names of stages, those alone: `npm test -- lint 'unit tests'`. With test files, those
// alone, and mocha's options for them: `npm test -- service/redact.test.ts --grep 'a password'`.
// TEST_LIMIT_FACTOR multiplies the time limits, for a slow machine.
import { serverPair } from './ground/mongod/server-pair.ts';
import { keepSeedDate, seedDate } from './ground/workload/chosen-seeds.ts';
import { fillCompileCache } from './runner/compile-cache.ts';
import { runTests } from './runner/main.ts';
import { mocha, runFiles } from './runner/run-files.ts';
import type { Stage } from './runner/run-stages.ts';
import { coreTestsOfDay, serversStage } from './server-suites.ts';

/** The files that take a minute and more, the longest first. */
const longFiles = [
  'syncer/superseded-process.integration.ts',
  'syncer/random-topologies.integration.ts',
  'syncer/random-two-to-two.integration.ts',
  'syncer/chaos.integration.ts',
  'syncer/reset.integration.ts',
  'syncer/several-instances.integration.ts',
  'operator/lost-node.integration.ts',
  'syncer/repair-after-crash.integration.ts',
  'syncer/sharded-to-sharded.integration.ts',
  'syncer/merged-shards.integration.ts',
  'operator/outages.integration.ts',
  'syncer/several-on-replica-set.integration.ts',
  'verifier/by-hashes.integration.ts',
  'verifier/concurrent-writes.integration.ts',
  'verifier/sharded.integration.ts',
  'syncer/killed-instances.integration.ts',
  'syncer/random-repair-sharded.integration.ts',
  'syncer/repair.integration.ts',
  'syncer/into-sharded.integration.ts',
  'syncer/reset-reversal.integration.ts',
  'syncer/former-handover.integration.ts',
  'chart/operator-rights.integration.ts',
  'operator/two-operators.integration.ts',
  'mongo/given-up-commands.integration.ts',
  'syncer/foreign-namespaces.integration.ts',
  'syncer/repaired-faults.integration.ts',
  'syncer/crashes.integration.ts',
  'syncer/killed-operations.integration.ts',
  'operator/commit-under-way.integration.ts',
  'dashboard/page.integration.ts',
  'syncer/random-repair.integration.ts',
  'syncer/random-reverse-sharded.integration.ts',
  'verifier/single-faults.integration.ts',
  'verifier/killed.integration.ts',
  'syncer/random-into-sharded.integration.ts',
  'syncer/random-workload.integration.ts',
  'operator/connection-credentials.integration.ts',
  'mongo/connection-tls.integration.ts',
  'docs/readme.integration.ts',
  'syncer/silent-commands.integration.ts',
  'syncer/catalog-changes.integration.ts',
  'syncer/random-reverse.integration.ts',
  'syncer/rollbacks.integration.ts',
  'syncer/outside.integration.ts',
  'cli/run-refused.integration.ts',
];

const limitFactor = Number(process.env['TEST_LIMIT_FACTOR'] ?? 1);

/**
 * When the last integration tests begin, on both default servers and on other pairs: on a usual machine all have begun long before. So
 * a run on one that is three times slower ends within 90 minutes, and says what it has left out.
 */
const lastBegin =
  process.env['ALL_CASES'] === '1'
    ? { integration: Infinity, servers: Infinity }
    : { integration: limitSeconds(55), servers: limitSeconds(70) };

/** A pair of servers on which all runs, in place of the default and of those that are tried besides. */
const given = serverPair(process.env['SERVERS']) && process.env['SERVERS'];

// The stages depend on the day.
keepSeedDate();

const stages: readonly Stage[] = [
  { name: 'types', work: { kind: 'check' }, isRequired: true, ...npmScript('typecheck', 5) },
  { name: 'formatting', work: { kind: 'check' }, isBeside: true, ...npmScript('format:check', 5) },
  { name: 'unused code', work: { kind: 'check' }, isBeside: true, ...npmScript('unused', 5) },
  // Each keeps one core busy, and the time limits of the unit tests need one.
  { name: 'unit tests', work: { kind: 'mocha' }, ...npmScript('test:unit', 10) },
  { name: 'lint', work: { kind: 'check' }, isBeside: true, ...npmScript('lint', 10) },
  {
    name: 'integration tests',
    servers: given ?? 'the default server on both sides',
    work: {
      kind: 'mocha files',
      pattern: 'e2e/**/*.integration.ts',
      // With the end-to-end tests beside, two cores are busy from the beginning to the end: more at once takes as long in all,
      // and each test so much longer that it comes to its time limits.
      jobs: 2,
      jobsAlone: 4,
      first: longFiles,
      beginWithinSeconds: lastBegin.integration,
    },
    // Not by npm, which takes half as long to start as mocha does.
    command: [process.execPath, mocha, '--config', 'e2e/integration.mocharc.json'],
    limitSeconds: limitSeconds(62),
  },
  {
    name: 'end-to-end tests',
    work: { kind: 'mocha' },
    isBeside: true,
    ...npmScript('test:e2e', 60),
  },
  // Side by side, so that both cores are busy until the last of all their files: a pair that has more to do gets both in the end.
  ...Object.entries(given === undefined ? coreTestsOfDay() : {}).map(([servers, tests], index) => ({
    ...serversStage(
      servers,
      { ...tests, jobs: 1, jobsAlone: 2, beginWithinSeconds: lastBegin.servers },
      limitSeconds(18),
    ),
    isBeside: index > 0,
  })),
  {
    // Eight syncs with their servers: beside the end-to-end tests, whose waits have deadlines, they would starve these of both cores.
    name: 'soak',
    work: { kind: 'check' },
    isBeside: given === undefined,
    command: [process.execPath, 'bench/soak/main.ts', '--minutes=5', '--syncs=8', '--pace=4'],
    limitSeconds: limitSeconds(12),
  },
];

function npmScript(script: string, limitMinutes: number): Pick<Stage, 'command' | 'limitSeconds'> {
  return {
    command: ['npm', 'run', '--silent', script, '--'],
    limitSeconds: limitSeconds(limitMinutes),
  };
}

function limitSeconds(minutes: number): number {
  return minutes * 60 * limitFactor;
}

async function runNamedStages(names: readonly string[]): Promise<void> {
  console.log(`seeds and cases of the day: SEED_DATE=${seedDate()} repeats them`);
  const unknown = names.filter((name) => !stages.some((stage) => stage.name === name));
  if (unknown.length > 0) throw new Error(`there is no stage called ${unknown.join(', ')}`);
  const programs = ['operator/main.ts', 'syncer/main.ts', 'verifier/main.ts'];
  await fillCompileCache(
    [...programs, 'e2e/ground/sharded/router/router.ts'].map((path) => {
      return new URL(`../${path}`, import.meta.url);
    }),
  );
  await runTests(names.length === 0 ? stages : stages.filter(({ name }) => names.includes(name)));
}

const names = process.argv.slice(2);
const isOfFiles = names[0] === '--watch' || names.some((name) => name.endsWith('.ts'));
await (isOfFiles ? runFiles(names) : runNamedStages(names));
