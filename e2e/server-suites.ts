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
  /** Variables of the environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

const coreFiles = [
  'syncer/chaos',
  'syncer/catalog-changes',
  'syncer/into-sharded',
  'verifier/single-faults',
  'syncer/document-changes',
  'syncer/commit-under-way',
  'syncer/server-differences',
  'syncer/repair',
];

/** What each test run tries: documents, the catalog, real shards, a commit, a repair, faults, and that the verifier finds what differs. */
export const coreTests: ServerTests = {
  pattern: `e2e/integration/{${coreFiles.join(',')}}.integration.ts`,
  first: coreFiles.map((file) => `${file}.integration.ts`),
  jobs: 2,
  environment: { SEEDS: '6', LANES: '1' },
};

/** All tests of syncer, verifier and command line on servers. */
export const allTests: ServerTests = {
  pattern: 'e2e/integration/{mongo,syncer,verifier,cli}/**/*.integration.ts',
  jobs: 2,
};

/** A stage that runs tests on a pair of servers, as `SERVERS` names it. */
export function serversStage(servers: string, tests: ServerTests, limitSeconds: number): Stage {
  const { pattern, first = [], jobs, jobsAlone = jobs, environment = {} } = tests;
  const variables = Object.entries({ SERVERS: servers, ...environment });
  return {
    name: `servers ${servers}`,
    servers: servers.replace('-', ' to '),
    work: { kind: 'mocha files', pattern, first, jobs, jobsAlone },
    command: [
      'env',
      ...variables.map(([name, value]) => `${name}=${value}`),
      ...[process.execPath, mocha, '--config', 'e2e/integration.mocharc.json'],
    ],
    limitSeconds,
  };
}
