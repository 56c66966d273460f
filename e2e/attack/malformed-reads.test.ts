import assert from 'node:assert/strict';
import { BSON, Long, type Document } from 'mongodb';
import { createClusterClient } from '../../mongo/cluster-client.ts';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { RetryWarnings } from '../../mongo/retry-warnings.ts';
import { createLogger } from '../../service/logger.ts';
import { readChanges } from '../../syncer/source/change-reader.ts';
import { FakeMongod, type FakeAnswer } from './fake-mongod.ts';

const { signal } = new AbortController();

function clientOf({ address }: FakeMongod) {
  const uri = `mongodb://${address}/?directConnection=true`;
  return createClusterClient({ uri, option: 'cluster0', appName: 'malformed reads' });
}

describe('a server whose batches are malformed', () => {
  for (const [what, firstBatch] of [
    ['a number', [1]],
    ['a document and a text', [{ _id: 1 }, 'x']],
  ] as const) {
    it(`is named at once, by who has asked it, for a batch that is ${what}`, async () => {
      await using fake = await FakeMongod.start(({ name, honest, answer }) => {
        const cursor = { id: Long.ZERO, ns: 'shop.items', firstBatch };
        answer(name === 'find' ? { ...honest, cursor } : honest);
      });
      await using client = clientOf(fake);
      await assert.rejects(
        RawCursor.open(client.raw, 'shop', { find: 'items' }, { signal }),
        ({ message }: Error) => message.startsWith(`${fake.address} has sent `),
      );
      assert.ok(fake.names.includes('find'));
    });
  }
});

describe('a change event that stays malformed', () => {
  const tokenAt = (second: number): Document => {
    const time = (1_700_000_000 + second).toString(16);
    return { _data: `82${time}000000012b0229296e04` };
  };

  /** The second after whose token a command opens a change stream. */
  const resumedAt = ({ pipeline }: Document): number => {
    const [{ $changeStream }] = pipeline as [{ $changeStream: { resumeAfter: { _data: string } } }];
    return Number.parseInt($changeStream.resumeAfter._data.slice(2, 10), 16) - 1_700_000_000;
  };

  /** Has one event, for ever. */
  const answerStream: FakeAnswer = ({ name, honest, answer }) => {
    const ns = 'admin.$cmd.aggregate';
    const token = tokenAt(1);
    if (name === 'aggregate') {
      const cursor = { id: Long.ONE, ns, firstBatch: [], postBatchResumeToken: tokenAt(0) };
      answer({ ...honest, cursor });
    } else if (name === 'getMore') {
      const cursor = { id: Long.ONE, ns, nextBatch: [{ _id: token }], postBatchResumeToken: token };
      answer({ ...honest, cursor });
    } else answer(honest);
  };

  it('has its reader wait longer each time, until one could be read', async () => {
    const resumed: number[] = [];
    await using fake = await FakeMongod.start((request) => {
      if (request.name === 'aggregate') resumed.push(resumedAt(request.command));
      answerStream(request);
    });
    await using client = clientOf(fake);
    const log: { readonly attempt?: number; readonly isAbbreviated?: boolean }[] = [];
    const changes = readChanges(
      {
        deployment: client,
        kind: { showsMigrationEvents: false },
        documents: { completeEvent: async (event) => await Promise.resolve(event) },
        options: {},
        monitor: {
          retryWarnings: new RetryWarnings(),
          addReceived: () => undefined,
          addRetry: () => undefined,
        },
        logger: createLogger('test', 'warn', (line) => {
          log.push(JSON.parse(line) as (typeof log)[number]);
        }),
        signal,
      },
      { after: BSON.serialize(tokenAt(0)) },
      { match: undefined },
    );
    const nextEvent = async (fetched = changes.next()): Promise<void> => {
      while ((await fetched).value.events.length === 0) fetched = changes.next();
    };
    const refuse = async (): Promise<void> => {
      await nextEvent(changes.throw(new MalformedAnswer('a change event without a type')));
    };
    try {
      await nextEvent();
      for (let count = 0; count < 4; count++) await refuse();
      // Read at last.
      await nextEvent();
      await refuse();
    } finally {
      await changes.return(undefined as never);
    }
    assert.deepEqual(
      log.map(({ attempt }) => attempt),
      [0, 1, 2, 3, 0],
    );
    // What could not be read is read again, from where it began.
    assert.deepEqual(resumed, [0, 0, 0, 0, 0, 1]);
    // It was not too large to be sent.
    assert.ok(log.every(({ isAbbreviated }) => isAbbreviated === false));
  });
});
