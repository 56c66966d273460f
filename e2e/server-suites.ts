import { shareOfDay } from './ground/workload/chosen-seeds.ts';
import { mocha } from './runner/run-files.ts';
import type { Stage } from './runner/run-stages.ts';

/** The pairs of servers that each test run tries, besides the default server on both sides. */
export const corePairs: readonly string[] = ['6.0-7.0', '7.0-7.0'];

/** Which tests run on a pair of servers. */
export interface ServerTests {
  /** Names of files, as `globSync` takes them. */
  readonly pattern: string;
  /** The ends of the paths of those that take long. */
  readonly first?: readonly string[];
  /** How many files run side by side. */
  readonly jobs: number;
  /** How many do so when no stage beside runs any more; by default no more. */
  readonly jobsAlone?: number;
  /** Files that have not begun by then, counted from the beginning of the run, are left out. */
  readonly beginWithinSeconds?: number;
  /** Variables of the environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Documents, the catalog, real shards, a commit, a repair, faults, and that the verifier finds what differs: in two halves. */
const coreHalves = [
  ['syncer/into-sharded', 'verifier/single-faults', 'syncer/document-changes', 'syncer/repair'],
  [
    'syncer/catalog-changes',
    'syncer/chaos',
    'syncer/commit-under-way',
    'syncer/server-differences',
  ],
] as const;

/** What shows most about a pair of servers. */
export const coreTests = testsOf(coreHalves.flat());

/** What a test run tries on the core pairs: half of the core on one of them and half on the other, and on the next day the other way round. */
export function coreTestsOfDay(): Readonly<Record<string, ServerTests>> {
  return Object.fromEntries(
    corePairs.map((servers, index) => {
      const inTurn = index % 2 === 0 ? coreHalves : coreHalves.toReversed();
      return [servers, testsOf(shareOfDay(inTurn, 1).flat())];
    }),
  );
}

function testsOf(files: readonly string[]): ServerTests {
  return {
    pattern: `e2e/integration/{${files.join(',')}}.integration.ts`,
    first: files.map((file) => `${file}.integration.ts`),
    jobs: 2,
    environment: { LANES: '1' },
  };
}

/** All tests of syncer, verifier and command line on servers. */
export const allTests: ServerTests = {
  pattern: 'e2e/integration/{mongo,syncer,verifier,cli}/**/*.integration.ts',
  jobs: 2,
  environment: { ALL_CASES: '1' },
};

/** A stage that runs tests on a pair of servers, as `SERVERS` names it. */
export function serversStage(servers: string, tests: ServerTests, limitSeconds: number): Stage {
  const { environment = {}, ...files } = tests;
  const variables = Object.entries({ SERVERS: servers, ...environment });
  return {
    name: `servers ${servers}`,
    servers: servers.replace('-', ' to '),
    work: { kind: 'mocha files', ...files },
    command: [
      'env',
      ...variables.map(([name, value]) => `${name}=${value}`),
      ...[process.execPath, mocha, '--config', 'e2e/integration.mocharc.json'],
    ],
    limitSeconds,
  };
}
