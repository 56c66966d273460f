import { readFile } from 'node:fs/promises';

/** Where `make test-servers` keeps what came out of each pair. */
export const pairsFile = new URL('server-pairs.json', import.meta.url);

/** What came out of the tests on a pair of servers. */
export interface TestedPair {
  /** Releases, such as 6.0.27. */
  readonly source: string;
  readonly destination: string;
  /** The day, such as 2026-11-25. */
  readonly on: string;
  /** All integration tests of syncer, verifier and command line, or the core of them, which the tests of two days repeat. */
  readonly tests: 'all' | 'core';
  /** What routed to the shards of the destination. */
  readonly router: 'mongos' | 'router of the tests';
  readonly passed: number;
  readonly failed: number;
}

/** What is kept. */
export async function readServerPairs(): Promise<readonly TestedPair[]> {
  // test-servers.ts is its only writer.
  return JSON.parse(await readFile(pairsFile, 'utf8')) as readonly TestedPair[];
}

/** The series that a sync may have on either side, the oldest first. */
const series = ['6.0', '7.0', '8.0'] as const;

/** The rows of the table of pairs: every pair of series that a sync may have, tested or not. */
export function pairRows(tested: readonly TestedPair[]): readonly (readonly string[])[] {
  return series.flatMap((source, index) =>
    series.slice(index).map((destination) => {
      const found = tested.filter(
        (pair) =>
          pair.source.startsWith(`${source}.`) && pair.destination.startsWith(`${destination}.`),
      );
      return [
        source,
        destination,
        found.length === 0 ? 'not tested' : found.map(textOf).join('; '),
      ];
    }),
  );
}

function textOf({ source, destination, tests, router, passed, failed, on }: TestedPair): string {
  const result = failed === 0 ? 'tested' : `tested, **${failed} tests fail**`;
  const which = tests === 'all' ? 'all tests' : 'the core';
  const by = router === 'mongos' ? 'shards behind mongos' : 'shards behind the router of the tests';
  return `${result}: ${source} to ${destination}, ${which} (${passed}), ${by}, ${on}`;
}
