import assert from 'node:assert/strict';
import type { MongoClient } from 'mongodb';
import { forEachConcurrently } from '../../../service/concurrency.ts';
import { findDifferences, type Difference } from '../../ground/compare.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';
import { documentChanges as cases, type Rows } from './document-change-cases.ts';
import type { Row } from './every-id.ts';
import { canBeSlow, holdCommands } from './slow-commands.ts';

/** When the documents are changed: after the copy, or while the copy is held; with one worker it is held at its first. */
const moments: Readonly<Record<string, { readonly copyWorkers?: number }>> = {
  'after the copy': {},
  'of documents that are not copied yet': { copyWorkers: 1 },
  'of documents that have been read and not yet written': { copyWorkers: 60 },
};

describe('changes of documents', () => {
  const pair = useClusterPair({ parameters: canBeSlow });

  for (const [when, { copyWorkers }] of Object.entries(moments)) {
    describe(when, () => {
      const differences = new Map<string, readonly Difference[]>();

      before(async () => {
        await pair.reset();
        const { client } = pair.source;
        await prepare(client);
        await using syncer = await pair.syncer(copyWorkers ? { options: { copyWorkers } } : {});
        if (copyWorkers === undefined) {
          await syncer.start(forward);
          await syncer.waitFor(({ canCommit }) => canCommit);
          await changeAll(client);
        } else {
          await using held = await holdCommands(pair.destination, 'insert');
          await syncer.start(forward);
          const filled = Object.values(cases).filter(({ before: rows = [] }) => rows.length > 0);
          await held.reached(Math.min(copyWorkers, filled.length + Object.keys(cases).length));
          await changeAll(client);
        }
        await syncer.waitFor(({ canCommit }) => canCommit);
        await commitAndWait(syncer);
        const uris = [pair.source.set.uri('admin'), pair.destination.set.uri('admin')] as const;
        if ((await findDifferences(...uris)).length === 0) return;
        const databases = Object.keys(cases).map((_, index) => `case_${index}`);
        for (const [index, name] of Object.keys(cases).entries()) {
          const exclude = databases.filter((_, other) => other !== index);
          differences.set(name, await findDifferences(...uris, { exclude }));
        }
      });

      for (const name of Object.keys(cases)) {
        it(name, () => {
          assert.deepEqual(differences.get(name) ?? [], []);
        });
      }
    });
  }
});

/** At the same time, of documents up to 16 MB: a 7.0 with the cache that tests have refuses more (TransactionTooLargeForCache). */
const casesAtATime = 4;

async function prepare(client: MongoClient): Promise<void> {
  await forEachConcurrently(
    Object.values(cases).entries(),
    casesAtATime,
    async ([index, { before: documents = [] }]) => {
      const rows = rowsOf(client, index);
      await rows.db.createCollection('rows');
      await rows.db.collection<Row>('other').insertOne({ _id: 'there' });
      if (documents.length > 0) await rows.insertMany(documents);
    },
  );
}

async function changeAll(client: MongoClient): Promise<void> {
  await forEachConcurrently(
    Object.values(cases).entries(),
    casesAtATime,
    async ([index, { change }]) => {
      await change(rowsOf(client, index));
    },
  );
}

function rowsOf(client: MongoClient, index: number): Rows {
  return client.db(`case_${index}`).collection('rows', { ignoreUndefined: true });
}
