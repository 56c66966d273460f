import assert from 'node:assert/strict';
import { CommandQueue } from './command-queue.ts';

describe('CommandQueue', () => {
  it('knows of each commit request from when it has come until it is answered', async () => {
    const queue = new CommandQueue();
    const answers = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const requests = answers.map(async ({ promise }) => {
      await queue.answerCommit(async () => {
        await promise;
      });
    });
    assert.equal(queue.isCommitInHand, true);
    answers[0]?.reject(new Error('refused'));
    await assert.rejects(requests[0] ?? Promise.resolve(), /refused/);
    assert.equal(queue.isCommitInHand, true);
    answers[1]?.resolve(undefined);
    await requests[1];
    assert.equal(queue.isCommitInHand, false);
  });

  it('names the command that is carried out, but for a commit, until it has ended or failed', async () => {
    const queue = new CommandQueue();
    const seen = async (command: 'pause' | 'commit'): Promise<string | null> =>
      await queue.carryOut(command, async () => await Promise.resolve(queue.otherInHand));
    assert.deepEqual([await seen('pause'), await seen('commit')], ['pause', null]);
    const failing = queue.carryOut('reverse', async () => {
      await Promise.reject(new Error('refused'));
    });
    assert.equal(queue.otherInHand, 'reverse');
    await assert.rejects(failing, /refused/);
    assert.equal(queue.otherInHand, null);
  });
});
