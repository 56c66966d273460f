// Runs the integration tests on pairs of servers: `make test-servers SERVERS='6.0-7.0 7.0-7.0'`. With CORE=1 the core of them
// alone. What came out of a pair is kept in docs/server-pairs.json, for the table of docs/limits.md (`npm run generate`).
import { writeFile } from 'node:fs/promises';
import { mongodRelease } from './ground/mongod/mongod-process.ts';
import { serverPair } from './ground/mongod/server-pair.ts';
import { mongosBinary } from './ground/sharded/mongos-binary.ts';
import { keepSeedDate } from './ground/workload/chosen-seeds.ts';
import { runTests } from './runner/main.ts';
import type { Tally } from './runner/tally.ts';
import { allTests, coreTests, corePairs, serversStage } from './server-suites.ts';
import { pairsFile, readServerPairs, type TestedPair } from '../docs/server-pairs.ts';

const limitSeconds = 6 * 3600;

/** What is kept about a pair; undefined where nothing ran, or all was skipped. */
async function testedPair(
  servers: string,
  tally: Tally | undefined,
): Promise<TestedPair | undefined> {
  if (tally === undefined || tally.passed === 0) return undefined;
  process.env['SERVERS'] = servers;
  const source = await mongodRelease('source');
  const destination = await mongodRelease('destination');
  return {
    source,
    destination,
    on: new Date().toISOString().slice(0, 10),
    tests: isCore ? 'core' : 'all',
    router: (await mongosBinary('destination')) === undefined ? 'router of the tests' : 'mongos',
    passed: tally.passed,
    failed: tally.failed.length,
  };
}

keepSeedDate();
const isCore = process.env['CORE'] === '1';
const given = (process.env['SERVERS'] ?? '').split(' ').filter((servers) => servers !== '');
const pairs = given.length === 0 ? corePairs : given;
for (const servers of pairs) serverPair(servers);
const stages = pairs.map((servers) =>
  serversStage(servers, isCore ? coreTests : allTests, limitSeconds),
);
const tallies = await runTests(stages);
const tested: TestedPair[] = [];
for (const [index, servers] of pairs.entries()) {
  const stage = stages[index];
  const pair = await testedPair(servers, stage && tallies.get(stage));
  if (pair) tested.push(pair);
}
const isSame = (a: TestedPair, b: TestedPair): boolean =>
  a.source === b.source && a.destination === b.destination;
const others = (await readServerPairs()).filter((pair) => !tested.some((one) => isSame(one, pair)));
await writeFile(pairsFile, `${JSON.stringify([...others, ...tested], undefined, 2)}\n`);
