import assert from 'node:assert/strict';
import { forward, namespacesOf, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, slowCommands } from './slow-commands.ts';

const collectionCount = 150;

describe('progress while many collections are created', () => {
  const pair = useClusterPair({ parameters: canBeSlow });

  it('is answered all the time, though the destination is slow', async () => {
    const many = pair.source.client.db('many');
    for (let n = 0; n < collectionCount; n++) await many.createCollection(`c${n}`);
    await using syncer = await pair.syncer();
    await using slow = await slowCommands(pair.destination, ['create'], 2_000);
    await syncer.start(forward);
    let answers = 0;
    while ((await namespacesOf(pair.destination)).length < collectionCount) {
      assert.equal((await syncer.progress()).state, 'RUNNING');
      answers++;
      // Slow until then, however long an answer takes.
      if (answers === 11) await slow[Symbol.asyncDispose]();
    }
    assert.ok(answers > 10, `${answers} answers`);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await pair.assertEqual();
  });
});
