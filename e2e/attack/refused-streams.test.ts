import assert from 'node:assert/strict';
import { BSON, Long, Timestamp, type Document } from 'mongodb';
import { createClusterClient } from '../../mongo/cluster-client.ts';
import { RetryWarnings } from '../../mongo/retry-warnings.ts';
import { serverCode } from '../../mongo/server-errors.ts';
import { createLogger } from '../../service/logger.ts';
import { readChanges, type StreamStart } from '../../syncer/source/change-reader.ts';
import { abbreviation } from '../../syncer/source/source-documents.ts';
import { FakeMongod } from './fake-mongod.ts';

type Options = Parameters<typeof readChanges>[0]['options'];

const tokenAt = (second: number): Document => ({
  _data: `82${(1_700_000_000 + second).toString(16)}000000012b0229296e04`,
});
const start: StreamStart = { after: BSON.serialize(tokenAt(0)) };
/** The first event. */
const token = tokenAt(1);

interface Scene {
  readonly options?: Options;
  readonly from?: StreamStart;
  /** The code with which a fetch is refused; undefined to answer it. */
  readonly refuses?: (isAbbreviated: boolean) => number | undefined;
  /** How many batches with events to read. */
  readonly count?: number;
}

/** Reads changes of a server with one event in each batch, and returns what it was asked for. */
async function read({ options = {}, from = start, refuses, count = 1 }: Scene) {
  const pipelines: Document[][] = [];
  const sizes: unknown[] = [];
  const completed: number[] = [];
  await using fake = await FakeMongod.start(({ name, command, honest, answer }) => {
    const cursor = { id: Long.ONE, ns: 'admin.$cmd.aggregate' };
    if (name === 'aggregate') {
      pipelines.push(command['pipeline'] as Document[]);
      const first = { ...cursor, firstBatch: [], postBatchResumeToken: tokenAt(0) };
      answer({ ...honest, cursor: first });
    } else if (name === 'getMore') {
      const isAbbreviated = pipelines.at(-1)?.some((stage) => '$set' in stage) ?? false;
      const code = refuses?.(isAbbreviated);
      sizes.push(Number(command['batchSize']));
      const next = { ...cursor, nextBatch: [{ _id: token }], postBatchResumeToken: token };
      if (code === undefined) answer({ ...honest, cursor: next });
      else answer({ ...honest, ok: 0, code, errmsg: 'not so' });
    } else answer(honest);
  });
  await using client = createClusterClient({
    ...{ uri: `mongodb://${fake.address}/?directConnection=true` },
    ...{ option: 'cluster0', appName: 'refused streams' },
  });
  const changes = readChanges(
    {
      deployment: client,
      kind: { showsMigrationEvents: false },
      documents: {
        completeEvent: async (event) => {
          completed.push(event.length);
          return await Promise.resolve(event);
        },
      },
      options,
      monitor: {
        retryWarnings: new RetryWarnings(),
        addReceived: () => undefined,
        addRetry: () => undefined,
      },
      logger: createLogger('test', 'fatal'),
      signal: new AbortController().signal,
    },
    from,
    { match: undefined },
  );
  try {
    for (let left = count; left > 0;) if ((await changes.next()).value.events.length > 0) left--;
  } finally {
    await changes.return(undefined as never);
  }
  return { pipelines, sizes, completed };
}

describe('a change stream', () => {
  it('is read abbreviated from an event that is too large, one event first', async () => {
    const refuses = (isAbbreviated: boolean): number | undefined =>
      isAbbreviated ? undefined : serverCode.bsonObjectTooLarge;
    const { pipelines, sizes, completed } = await read({ refuses, count: 3 });
    assert.deepEqual(
      pipelines.map((pipeline) => Object.keys(pipeline.at(-1) ?? {})),
      [['$match'], Object.keys(abbreviation)],
    );
    assert.deepEqual(sizes.slice(1, 4), [1, 4, 4]);
    assert.equal(completed.length, 3);
  });

  it('ends with an event that is too large even if abbreviated', async () => {
    await assert.rejects(read({ refuses: () => serverCode.bsonObjectTooLarge }), {
      name: 'ChangeNotSupported',
    });
  });

  it('ends where the source has dropped events', async () => {
    for (const code of [serverCode.changeStreamHistoryLost, serverCode.changeStreamFatalError])
      await assert.rejects(read({ refuses: () => code }), { name: 'OplogRolledOver' });
  });

  const named = { database: 'shop' };
  const byPattern = { databaseRegex: { pattern: 'x' } };
  const others = { $nin: ['clustersync_internal', 'clustersync_verifier'] };
  for (const [what, options, expected] of [
    ['of no database but those that are named', { includeNamespaces: [named] }, { $in: ['shop'] }],
    ['of all databases, if one has a pattern', { includeNamespaces: [named, byPattern] }, others],
    ['of all databases, if none is named', {}, others],
  ] as const) {
    it(`reports events ${what}`, async () => {
      const { pipelines } = await read({ options });
      const [[, matching] = []] = pipelines;
      const { $match: match } = (matching ?? {}) as { readonly $match?: Document };
      assert.deepEqual(match?.['ns.db'], expected);
    });
  }

  it('begins after a token, or at a time', async () => {
    const time = new Timestamp({ t: 1_700_000_000, i: 1 });
    const beginningOf = async (from: StreamStart): Promise<string[]> => {
      const { pipelines } = await read({ from });
      const [[first] = []] = pipelines;
      const { $changeStream } = first as { readonly $changeStream: object };
      return Object.keys($changeStream).filter((name) => /^(?:resume|start)/.test(name));
    };
    assert.deepEqual(await beginningOf({ at: time }), ['startAtOperationTime']);
    assert.deepEqual(await beginningOf(start), ['resumeAfter']);
  });
});
