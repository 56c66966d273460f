import assert from 'node:assert/strict';
import type { Db } from 'mongodb';
import { findDifferences, type Difference } from '../../ground/compare.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';
import { hardCases, oddDatabases, type Phase } from './hard-data-cases.ts';
import { canBeSlow, slowCommands } from './slow-commands.ts';

describe('data that is hard to carry, written before the sync, during the copy and during change events', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  const names = Object.keys(hardCases);
  const databases = [...names.map((_, index) => `case_${index}`), ...oddDatabases];
  const differences = new Map<string, readonly Difference[]>();

  before(async () => {
    await pair.reset();
    await write(0);
    await using syncer = await pair.syncer({
      options: { partitionMebibytes: 0.05, copyWorkers: 1 },
    });
    const slow = await slowCommands(pair.destination, ['insert'], 1000);
    await syncer.start(forward);
    await syncer.waitFor(({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 0);
    await write(1);
    const { canCommit: isCopied } = await syncer.progress();
    assert.equal(isCopied, false, 'the copy was over before the writes');
    await slow[Symbol.asyncDispose]();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await write(2);
    await commitAndWait(syncer);
    for (const database of databases) {
      const exclude = databases.filter((other) => other !== database);
      const [source, destination] = [pair.source, pair.destination];
      differences.set(
        database,
        await findDifferences(source.set.uri('admin'), destination.set.uri('admin'), { exclude }),
      );
    }
  });

  async function write(phase: Phase): Promise<void> {
    const db = (name: string): Db => pair.source.client.db(name);
    const cases = Object.values(hardCases).map(async (one, index) => {
      await one(db(`case_${index}`), phase);
    });
    await Promise.all(cases);
    for (const name of oddDatabases) {
      await db(name).collection('same').insertOne({ phase, name });
      await db(name).createCollection(`empty ${phase}`);
    }
  }

  for (const [index, name] of names.entries()) {
    it(name, () => {
      assert.deepEqual(differences.get(`case_${index}`), []);
    });
  }

  it('names of databases that differ in little', () => {
    for (const name of oddDatabases) assert.deepEqual(differences.get(name), []);
  });
});
