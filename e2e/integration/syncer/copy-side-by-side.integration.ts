import assert from 'node:assert/strict';
import { commitAndWait, forward, useClusterPair, type Side } from './cluster-pair.ts';
import type { Row } from './every-id.ts';
import { canBeSlow, delayNext, failCommands } from './slow-commands.ts';

const mebibyte = 1024 * 1024;

/** With one worker three batches are under way: more failures than that, and none is left if they keep their slots. */
const oneWorker = { options: { copyWorkers: 1 } };
const failures = 4;

describe('batches of the copy that are under way side by side', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
  });

  it('keep the order of a capped collection', async () => {
    const db = pair.source.client.db('data');
    await db.command({ create: 'capped', capped: true, size: 50 * mebibyte });
    await fill('capped');
    await using syncer = await pair.syncer();
    const inNamespace = { namespace: 'data.capped' };
    const reached = await delayNext(pair.destination, 'insert', 2_000, inNamespace);
    await syncer.start(forward);
    await reached();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
    assert.deepEqual(await orderOf(pair.destination), await orderOf(pair.source));
  });

  for (const [side, command] of [
    ['source', 'find'],
    ['source', 'getMore'],
    ['destination', 'insert'],
  ] as const)
    it(`continue after failures: ${command}`, async () => {
      await fill('rows');
      await fill('others');
      await using syncer = await pair.syncer(oneWorker);
      await using failing = await failCommands(pair[side], [command], 'data.rows');
      await syncer.start(forward);
      await failing.reached(failures);
      await failing[Symbol.asyncDispose]();
      await syncer.waitFor(({ canCommit }) => canCommit);
      await commitAndWait(syncer);
      await pair.assertEqual();
    });

  it('count a collection as copied only when its last one is there', async () => {
    await pair.source.client.db('data').collection<Row>('rows').insertOne({ _id: 1 });
    await using syncer = await pair.syncer();
    await using failing = await failCommands(pair.destination, ['insert'], 'data.rows');
    await syncer.start(forward);
    await failing.reached(1);
    await failing[Symbol.asyncDispose]();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  /** Several fetches. */
  async function fill(coll: string): Promise<void> {
    const filler = 'f'.repeat(10_000);
    const rows = Array.from({ length: 1_500 }, (_, _id) => ({ _id, filler }));
    await pair.source.client.db('data').collection<Row>(coll).insertMany(rows);
  }

  async function orderOf({ client }: Side): Promise<unknown[]> {
    const inOrder = { sort: { $natural: 1 }, projection: { _id: 1 } } as const;
    const rows = await client.db('data').collection<Row>('capped').find({}, inOrder).toArray();
    return rows.map(({ _id }) => _id);
  }
});
