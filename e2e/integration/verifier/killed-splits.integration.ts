import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Document } from 'mongodb';
import { until } from '../../ground/until.ts';
import { VerifierProcess } from '../../ground/verifier-process.ts';
import { SeededRandom } from '../../ground/workload/seeded-random.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';

/** How many random runs there are. More: VERIFIER_KILLS=20. */
const runs = Number(process.env['VERIFIER_KILLS'] ?? 1);

interface Row extends Document {
  _id: number;
}

const documents = 1500;
const collections = 5;

/** Some thirty ranges of each collection, and so slow that there is much to be killed in. */
const slowly = { partitionMebibytes: 0.01, maxBytesPerSecond: 200_000, workers: 2 };

describe('verifier, killed while several collections are split', () => {
  const pair = useReplicaSetPair();

  beforeEach(async () => {
    for (const db of [pair.source, pair.destination]) {
      await db.dropDatabase();
      for (let number = 0; number < collections; number++) {
        const rows = Array.from({ length: documents }, (_, _id): Row => {
          return { _id, text: 'x'.repeat(150) };
        });
        await db.collection<Row>(`large${number}`).insertMany(rows);
      }
    }
  });

  for (let seed = 1; seed <= runs; seed++) {
    it(`reads every document of each, and finds the fault in each, seed ${seed}`, async () => {
      const random = new SeededRandom(seed);
      const wanted: string[] = [];
      for (let number = 0; number < collections; number++) {
        const _id = random.below(documents);
        await pair.destination
          .collection<Row>(`large${number}`)
          .updateOne({ _id }, { $set: { text: 'y' } });
        wanted.push(`shop.large${number} differentDocument {"$numberInt":"${_id}"}`);
      }
      const [srcURI = '', destURI = ''] = pair.sets.map((set) => set.uri('syncer'));
      const start = async (id: string): Promise<VerifierProcess> =>
        await VerifierProcess.start({
          uris: { srcURI, destURI, metaURI: destURI },
          options: { ...slowly, verification: `split${seed}`, id },
        });
      await using first = await start('first');
      await using second = await start('second');
      const processes = [first, second] as const;
      await first.post('check');
      await until('a collection is split', async () => {
        return (await second.progress()).verificationStatus.totalTasks > 2 * collections;
      });
      for (let kill = 0; kill < 4; kill++) {
        await delay(random.below(1500));
        const killed = processes[random.below(2) === 0 ? 0 : 1];
        await killed.kill();
        await killed.restart();
      }
      await first.post('writesOff');
      const { verdict, mismatches } = await first.untilComplete();
      const shown = mismatches.map(({ namespace, kind, id }) => [namespace, kind, id].join(' '));
      assert.deepEqual(shown, wanted);
      assert.equal(verdict, 'different');
      const { namespaces } = await first.get('/api/v1/namespaces');
      const read = (namespaces as readonly Document[]).map(({ namespace, coverage }) => {
        const { documentsCompared, ranges } = coverage as Document;
        assert.ok(ranges > 10, `${String(namespace)} in ${String(ranges)} ranges`);
        return documentsCompared as unknown;
      });
      const all = { source: documents, destination: documents };
      assert.deepEqual(
        read,
        Array.from({ length: collections }, () => all),
      );
    });
  }
});
