import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Document } from 'mongodb';
import type { MismatchView } from '../../../verifier/compare/mismatch.ts';
import { createGuardedFolder } from '../../ground/guarded-folder.ts';
import { until } from '../../ground/until.ts';
import { VerifierProcess } from '../../ground/verifier-process.ts';
import { SeededRandom } from '../../ground/workload/seeded-random.ts';
import { writeToBoth } from './mirrored-writer.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { verifyOnce } from './verifier-session.ts';

/** How many random runs there are. More: VERIFIER_KILLS=50. */
const runs = Number(process.env['VERIFIER_KILLS'] ?? 1);

interface Row extends Document {
  _id: number;
}

/** Small ranges and a low limit, so that there is much to be killed in. */
const slowly = { partitionMebibytes: 0.05, maxBytesPerSecond: 1_500_000, workers: 2 };

describe('verifier, killed', () => {
  const pair = useReplicaSetPair();

  beforeEach(async () => {
    for (const db of [pair.source, pair.destination]) {
      await db.dropDatabase();
      const rows = Array.from({ length: 4000 }, (_, _id): Row => ({ _id, text: 'x'.repeat(150) }));
      await db.collection<Row>('many').insertMany(rows);
      await db.collection('many').createIndexes([{ key: { text: 1 }, name: 'by_text' }]);
      for (let number = 0; number < 8; number++) {
        await db.collection<Row>(`few${number}`).insertMany([{ _id: 1 }, { _id: 2 }]);
      }
    }
  });

  function uris(): { readonly srcURI: string; readonly destURI: string; readonly metaURI: string } {
    const [srcURI = '', destURI = ''] = pair.sets.map((set) => set.uri('syncer'));
    return { srcURI, destURI, metaURI: destURI };
  }

  async function makeFaults(): Promise<void> {
    const many = pair.destination.collection<Row>('many');
    await many.deleteMany({ _id: { $in: [3, 1999, 3999] } });
    await many.updateMany({ _id: { $in: [700, 2100] } }, { $set: { text: 'y' } });
    await many.insertOne({ _id: 10_000 });
    await many.dropIndex('by_text');
    await pair.destination.collection('few3').drop();
    await pair.destination.createCollection('more');
  }

  function short({ namespace, kind, id, index }: MismatchView): string {
    return [namespace, kind, id ?? index ?? ''].join(' ').trim();
  }

  async function mismatchesOf(verifier: VerifierProcess): Promise<string[]> {
    const found: MismatchView[] = [];
    let next: string | null = '';
    while (next !== null) {
      const query = new URLSearchParams({ limit: '3', after: next });
      const page = await verifier.get(`/api/v1/mismatches?${query.toString()}`);
      found.push(...(page['mismatches'] as MismatchView[]));
      next = page['next'] as string | null;
    }
    return found.map(short).sort();
  }

  async function killAndRestart(verifier: VerifierProcess, withinMs: number): Promise<void> {
    await delay(withinMs);
    await verifier.kill();
    await verifier.restart();
  }

  /** Lets the primary of a side step down; it is elected again after a second. */
  async function stepDown(side: number): Promise<void> {
    const command = { replSetStepDown: 1, secondaryCatchUpPeriodSecs: 0, force: true };
    await pair.clients[side]?.db('admin').command(command);
  }

  for (let seed = 1; seed <= runs; seed++) {
    it(`ends with the same differences, killed again and again while primaries step down, seed ${seed}`, async () => {
      const random = new SeededRandom(seed);
      await makeFaults();
      const calm = await verifyOnce({ ...uris(), verification: 'calm' });
      await using verifier = await VerifierProcess.start({
        uris: uris(),
        options: { ...slowly, clean: 'false', verification: `killed${seed}` },
      });
      assert.deepEqual(await verifier.post('check'), { success: true });
      for (let kill = 0; kill < 2; kill++) {
        await killAndRestart(verifier, random.below(900));
        await stepDown(random.below(2));
      }
      // A fault made while it is dead, and one that is repaired.
      await verifier.kill();
      await pair.destination.collection<Row>('few5').deleteOne({ _id: 2 });
      await pair.destination.collection<Row>('few6').deleteOne({ _id: 2 });
      await verifier.restart();
      await until('both are seen, or the first pass is not over', async () => {
        const { generation, mismatchCount } = await verifier.progress();
        return generation > 0 && mismatchCount > 0;
      });
      await killAndRestart(verifier, random.below(300));
      await pair.destination.collection<Row>('few6').insertOne({ _id: 2 });
      await verifier.post('writesOff');
      for (let kill = 0; kill < 2; kill++) await killAndRestart(verifier, random.below(400));
      const { verdict, mismatchCount } = await verifier.untilComplete();
      assert.equal(verdict, 'different');
      const wanted = calm.progress.mismatches.map(short);
      wanted.push('shop.few5 missingDocument {"$numberInt":"2"}');
      assert.deepEqual(await mismatchesOf(verifier), wanted.sort());
      assert.equal(mismatchCount, wanted.length);

      await killAndRestart(verifier, 0);
      assert.deepEqual(await verifier.post('check'), { success: true });
      assert.equal((await verifier.untilComplete()).verdict, 'different');
      assert.deepEqual(await mismatchesOf(verifier), wanted);
    });

    it(`raises no false alarm, killed while both sides are written to, seed ${seed}`, async () => {
      const random = new SeededRandom(seed + 100);
      for (const db of [pair.source, pair.destination]) {
        await db.createCollection('capped', { capped: true, size: 4096 });
      }
      await using verifier = await VerifierProcess.start({
        uris: uris(),
        options: { ...slowly, verification: `written${seed}` },
      });
      await verifier.post('check');
      const written = new AbortController();
      const writing = writeToBoth(pair.source, pair.destination, { seed, operations: 500 }).finally(
        () => {
          written.abort();
        },
      );
      while (!written.signal.aborted) await killAndRestart(verifier, random.below(2000));
      await writing;
      await verifier.post('writesOff');
      await killAndRestart(verifier, random.below(500));
      const { verdict, mismatches } = await verifier.untilComplete();
      assert.deepEqual(mismatches, []);
      assert.equal(verdict, 'equal');
    });
  }

  it('ends with the same differences, killed in each phase of one verification', async () => {
    // The last pass compares all of it, whatever has changed: that takes a while.
    for (const db of [pair.source, pair.destination]) {
      await db.createCollection('capped', { capped: true, size: 1_000_000 });
      const rows = Array.from({ length: 2000 }, (_, _id): Row => ({ _id, text: 'x'.repeat(250) }));
      await db.collection<Row>('capped').insertMany(rows);
    }
    await makeFaults();
    const calm = await verifyOnce({ ...uris(), verification: 'calm' });
    const wanted = calm.progress.mismatches.map(short).sort();
    await using verifier = await VerifierProcess.start({
      uris: uris(),
      options: { ...slowly, maxBytesPerSecond: 300_000, verification: 'phases' },
    });
    const killIn = async (
      phase: string,
      isIn: (progress: Awaited<ReturnType<VerifierProcess['progress']>>) => boolean,
    ): Promise<void> => {
      await until(phase, async () => isIn(await verifier.progress()));
      await verifier.kill();
      await verifier.restart();
    };
    const changeBoth = async (): Promise<void> => {
      for (const db of [pair.source, pair.destination])
        await db.collection<Row>('many').updateMany({}, { $inc: { changed: 1 } });
    };
    await killIn('idle, before check', ({ phase, verdict }) => phase === 'idle' && !verdict);
    await verifier.post('check');
    await killIn('check, the first pass', ({ phase, verificationStatus, generationKind }) => {
      const { processingTasks, completedTasks } = verificationStatus;
      const isUnderWay = processingTasks > 0 && completedTasks > 0;
      return phase === 'check' && generationKind === 'first' && isUnderWay;
    });
    await changeBoth();
    await killIn('recheck, a later pass', ({ phase, verificationStatus, generationKind }) => {
      const isUnderWay = verificationStatus.processingTasks > 0;
      return phase === 'recheck' && generationKind === 'recheck' && isUnderWay;
    });
    await killIn('recheck, between two passes', ({ phase, verificationStatus }) => {
      const { totalTasks, failedTasks, completedTasks } = verificationStatus;
      return phase === 'recheck' && totalTasks > 0 && totalTasks === failedTasks + completedTasks;
    });
    await changeBoth();
    await verifier.post('writesOff');
    await killIn('recheck, after writesOff', ({ phase, writesOff }) => {
      return phase === 'recheck' && writesOff;
    });
    await killIn('recheck, the last pass', ({ phase, verificationStatus, generationKind }) => {
      const isUnderWay = verificationStatus.processingTasks > 0;
      return phase === 'recheck' && generationKind === 'last' && isUnderWay;
    });
    assert.equal((await verifier.untilComplete()).verdict, 'different');
    await killIn('idle, complete', ({ phase, verdict }) => phase === 'idle' && verdict !== null);
    assert.equal((await verifier.progress()).verdict, 'different');
    assert.deepEqual(await mismatchesOf(verifier), wanted);
  });

  it('shares the work among several processes, by hashes and by bytes, and continues when the leading one is killed', async () => {
    await makeFaults();
    const calm = await verifyOnce({ ...uris(), verification: 'calm' });
    const start = async (id: string, comparison: string) =>
      await VerifierProcess.start({
        uris: uris(),
        options: { ...slowly, maxBytesPerSecond: 200_000, verification: 'shared', id, comparison },
      });
    await using first = await start('first', 'hashes');
    await first.post('check');
    await until('it works', async () => (await first.progress()).documentsCompared > 0);
    await using second = await start('second', 'bytes');
    await until('both work', async () => {
      const { processes } = await second.progress();
      return processes.length === 2 && (await second.log()).includes('takes part');
    });
    await first.kill();
    await second.post('writesOff');
    const { verdict } = await second.untilComplete();
    assert.equal(verdict, 'different');
    const wanted = calm.progress.mismatches.map(short).sort();
    assert.deepEqual(await mismatchesOf(second), wanted);
  });

  it('is reported as text, JSON and JUnit XML, without values', async () => {
    await makeFaults();
    const { progress } = await verifyOnce({ ...uris(), verification: 'told', reportValues: true });
    await using verifier = await VerifierProcess.start({ uris: uris() });
    const told = { verification: 'told' };
    const text = await verifier.report(told);
    assert.equal(text.exitCode, 1);
    assert.match(text.output, /^verdict: {6}different$/m);
    assert.match(text.output, /^shop.many differentDocument _id {"\$numberInt":"700"} at text \(/m);
    assert.doesNotMatch(text.output, /"y"|xxx/);

    const json = await verifier.report({ ...told, format: 'json', reportValues: 'true' });
    const parsed = JSON.parse(json.output) as Record<string, unknown>;
    assert.equal(parsed['verdict'], 'different');
    assert.equal(parsed['attempt'], 0);
    assert.equal((parsed['mismatches'] as unknown[]).length, progress.mismatchCount);
    assert.equal((parsed['namespaces'] as unknown[]).length, 10);
    assert.match(json.output, /"destinationValue":"\\"y\\""/);

    const junit = await verifier.report({ ...told, format: 'junit' });
    assert.match(junit.output, /<testcase classname="told" name="shop.few1"\/>/);
    assert.match(junit.output, /name="shop.many">\s*<failure message="shop.many /);
    assert.equal(junit.output.match(/<failure/g)?.length, 4);

    // Values of documents are for nobody but the one who asks for them, also where others may read the report before it.
    await using folder = await createGuardedFolder();
    const output = join(folder.path, 'report');
    await writeFile(output, 'a former one', { mode: 0o644 });
    assert.equal((await verifier.report({ ...told, output })).exitCode, 1);
    assert.equal((await stat(output)).mode & 0o777, 0o600);
    assert.equal(await readFile(output, 'utf8'), text.output);

    assert.equal((await verifier.report({ verification: 'verification' })).exitCode, 3);
  });
});
