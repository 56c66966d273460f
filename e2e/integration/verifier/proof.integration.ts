import assert from 'node:assert/strict';
import type { Collection, Document } from 'mongodb';
import { verifierDatabase } from '../../../mongo/namespace.ts';
import { hidesAppliedOps } from '../../../mongo/oplog.ts';
import { until } from '../../ground/until.ts';
import { skipBecause } from '../../runner/skip.ts';
import { applyOps } from './apply-ops.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { openSession, type VerifierSession } from './verifier-session.ts';

interface Row extends Document {
  _id: number;
}

interface NamespaceRow {
  readonly namespace: string;
  readonly coverage: Readonly<Record<string, unknown>> | null;
}

const documents = 400;
const collections = 3;

/** Four ranges of each collection. */
const partitionMebibytes = 0.025;

describe('verifier, the proof of the verdict', () => {
  const pair = useReplicaSetPair();

  beforeEach(async () => {
    for (const db of [pair.source, pair.destination]) {
      await db.dropDatabase();
      for (let number = 0; number < collections; number++) {
        const rows = Array.from({ length: documents }, (_, _id): Row => {
          return { _id, text: 'x'.repeat(200) };
        });
        await db.collection<Row>(`large${number}`).insertMany(rows);
      }
      await db.createCollection('none');
    }
  });

  function open(more: Partial<Parameters<typeof openSession>[0]> = {}): Promise<VerifierSession> {
    const [srcURI = '', destURI = ''] = pair.sets.map((set) => set.uri('syncer'));
    return openSession({ srcURI, destURI, partitionMebibytes, ...more });
  }

  /** A collection of the metadata store. */
  function stored(name: string): Collection {
    const [, client] = pair.clients;
    assert.ok(client);
    return client.db(verifierDatabase).collection(name);
  }

  async function untilGeneration(session: VerifierSession, wanted: number): Promise<void> {
    await until('the pass is over', async () => {
      const { generation, verificationStatus } = await session.progress();
      const { addedTasks, processingTasks, totalTasks } = verificationStatus;
      return generation >= wanted && totalTasks > 0 && addedTasks + processingTasks === 0;
    });
  }

  it('says of each namespace how many documents were compared and counted', async () => {
    await using session = await open();
    await session.post('check');
    await session.post('writesOff');
    const { verdict, proof, documentsCompared } = await session.untilComplete();
    const all = { source: collections * documents, destination: collections * documents };
    assert.equal(verdict, 'equal');
    assert.equal(documentsCompared, all.source);
    assert.ok(proof);
    const { ranges, ...counts } = proof;
    assert.deepEqual(counts, {
      collections: collections + 1,
      documentsCompared: all,
      documentsHashed: 0,
      documentsCounted: all,
    });
    const { body } = await session.get('/api/v1/namespaces');
    const rows = body['namespaces'] as readonly NamespaceRow[];
    assert.deepEqual(
      rows.map(({ namespace }) => namespace),
      ['shop.large0', 'shop.large1', 'shop.large2', 'shop.none'],
    );
    let rangesOfAll = 0;
    for (const { namespace, coverage } of rows) {
      assert.ok(coverage, namespace);
      const count = namespace === 'shop.none' ? 0 : documents;
      const both = { source: count, destination: count };
      assert.deepEqual(coverage['documentsCompared'], both);
      assert.deepEqual(coverage['documentsCounted'], both);
      rangesOfAll += Number(coverage['ranges']);
    }
    assert.equal(ranges, rangesOfAll);
    assert.ok(ranges > collections * 2, `${ranges} ranges`);
  });

  it('counts what came and went between its passes', async () => {
    await using session = await open();
    await session.post('check');
    await untilGeneration(session, 0);
    for (const db of [pair.source, pair.destination]) {
      const large = db.collection<Row>('large0');
      await large.insertMany([{ _id: 9001 }, { _id: 9002 }]);
      await large.deleteMany({ _id: { $in: [1, 2, 3, 9001] } });
    }
    await session.post('writesOff');
    const { verdict, proof } = await session.untilComplete();
    assert.equal(verdict, 'equal');
    assert.equal(proof?.documentsCompared.source, collections * documents);
    assert.equal(proof.documentsCounted.source, collections * documents - 2);
    assert.equal(proof.documentsCounted.destination, collections * documents - 2);
  });

  it('is not given where a range is gone from the metadata store that was not compared', async () => {
    await using session = await open({ maxBytesPerSecond: 60_000, workers: 1 });
    await session.post('check');
    await session.post('writesOff');
    const range = { 'work.kind': 'range', state: 'added', 'namespace.coll': 'large1' };
    await until('a range of large1 is gone', async () => {
      return (await stored('tasks').deleteOne(range)).deletedCount === 1;
    });
    assert.match(
      await session.untilFailed(),
      /^CheckFailed: .*shop\.large1: \d+ of its \d+ ranges/,
    );
  });

  it('is not given where a collection is gone from the metadata store that was not compared', async () => {
    await using session = await open({ maxBytesPerSecond: 60_000, workers: 1 });
    await session.post('check');
    await session.post('writesOff');
    await until('the task on a collection is gone', async () => {
      const task = { 'work.kind': 'collection', state: { $in: ['added', 'processing'] } };
      return (await stored('tasks').deleteOne(task)).deletedCount === 1;
    });
    assert.match(await session.untilFailed(), /^CheckFailed: .* of its \d+ tasks are on record/);
  });

  it('compares a collection again of which nothing says that it was read', async () => {
    await using session = await open();
    await session.post('check');
    await untilGeneration(session, 0);
    await until('what was read is on record', async () => {
      return (await stored('coverages').countDocuments({})) === collections + 1;
    });
    await stored('coverages').deleteOne({ name: 'shop.large2' });
    await session.post('writesOff');
    const { verdict, proof, documentsCompared } = await session.untilComplete();
    assert.equal(verdict, 'equal');
    assert.equal(documentsCompared, (collections + 1) * documents);
    assert.equal(proof?.documentsCounted.source, collections * documents);
  });

  it('finds a document on the source that no change stream tells of', async function () {
    const [set] = pair.sets;
    const [admin] = pair.clients;
    assert.ok(set && admin);
    if (!(await hidesAppliedOps({ admin: admin.db('admin') }, AbortSignal.timeout(10_000))))
      skipBecause(this, 'change streams of this server show what applyOps writes');
    await using session = await open();
    await session.post('check');
    await untilGeneration(session, 0);
    await applyOps(admin, [{ op: 'i', ns: 'shop.large1', o: { _id: 7777 } }]);
    await session.post('writesOff');
    const { verdict, mismatches, generation } = await session.untilComplete();
    assert.equal(verdict, 'different');
    assert.deepEqual(
      mismatches.map(({ namespace, kind, id }) => [namespace, kind, id]),
      [['shop.large1', 'missingDocument', '{"$numberInt":"7777"}']],
    );
    assert.ok(
      generation >= 2,
      'the collection was compared again, after a last pass that found nothing',
    );
  });
});
