import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { CheckAnswer } from '../../../sync-api/json.ts';
import { forward, useClusterPair } from './cluster-pair.ts';

/** Of each document: what a server compresses to almost nothing, and what it cannot compress. */
const text = 'x'.repeat(1_200_000);
const randomLength = 200_000;
const documents = 900;

describe('POST /check of much data', function () {
  this.timeout(180_000);
  const roles = { source: 'source', destination: 'destination' } as const;
  const pair = useClusterPair({ roles, oplogSizeMB: 100 });

  it('knows the size of the copy, the disks, and an oplog that is too short', async () => {
    // Takes a minute to copy at the assumed rate, and more than a little disk.
    const rows = pair.source.client.db('large').collection<{ _id: number }>('rows');
    for (let _id = 0; _id < documents; _id++)
      await rows.insertOne({ _id, text, random: randomBytes(randomLength) } as { _id: number });
    await using syncer = await pair.syncer();
    const { body } = await syncer.post('check', forward);
    const { canStart, findings } = body as unknown as CheckAnswer;
    assert.equal(canStart, true);
    // Nothing of the disks: they are known, and large enough.
    assert.deepEqual(
      findings.map(({ severity, name, side }) => [severity, name, side]),
      [['warning', 'OplogTooShort', 'source']],
      JSON.stringify(findings),
    );
    assert.match(
      findings[0]?.message ?? '',
      /^the oplog covers about .*; the copy of 1\.3 GB takes about 1 min 3 s, at an assumed 20\.0 MB\/s$/,
    );
  });
});
