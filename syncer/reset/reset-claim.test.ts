import assert from 'node:assert/strict';
import { SyncError } from '../../service/errors.ts';
import { othersTurnMs, ResetClaim } from './reset-claim.ts';

/** A claim by a clock that is set, and what it asks for. */
class Scene {
  nowMs = 1_000;
  /** Who has the instance; undefined if nothing of it is stored. */
  holder: 'this' | 'other' | undefined = 'this';
  /** What the next question of the store fails with. */
  failure: Error | undefined;
  readonly asked: string[] = [];
  readonly #claim = new ResetClaim({
    pair: {
      forgetFormerConnections: () => this.asked.push('forget connections'),
      takeOver: () => this.asked.push('take over'),
    },
    onLost: () => this.asked.push('lost'),
    nowMs: () => this.nowMs,
  });

  /** What comes of it, and what it has asked for. */
  async keepOrTake(name: 'cluster0' | 'cluster1' = 'cluster1'): Promise<[unknown, string[]]> {
    this.asked.length = 0;
    const outcome = await this.#claim
      .keepOrTake(name, {
        heartbeat: async () => {
          await this.#answer('heartbeat');
          if (this.holder !== 'this')
            throw new SyncError('SupersededByOtherInstance', 'another process has it');
        },
        readInstance: async () => {
          await this.#answer('read');
          return this.holder;
        },
        takeOwnership: async () => {
          await this.#answer('claim');
          this.holder = 'this';
        },
      })
      .catch((error: unknown) => (error instanceof SyncError ? error.name : error));
    return [outcome, [...this.asked]];
  }

  async #answer(question: string): Promise<void> {
    this.asked.push(question);
    const { failure } = this;
    this.failure = undefined;
    await Promise.resolve();
    if (failure) throw failure;
  }
}

const taken = ['forget connections', 'claim', 'take over'];
const leftToOther = ['SupersededByOtherInstance', ['heartbeat', 'lost', 'read']];

describe('the claim of an instance in a reset', () => {
  it('is taken first, then kept, and taken again where the record has moved to', async () => {
    const scene = new Scene();
    scene.holder = 'other';
    assert.deepEqual(await scene.keepOrTake(), [false, taken]);
    assert.deepEqual(await scene.keepOrTake(), [true, ['heartbeat']]);
    assert.deepEqual(await scene.keepOrTake('cluster0'), [false, taken]);
    assert.deepEqual(await scene.keepOrTake('cluster0'), [true, ['heartbeat']]);
  });

  it('is left to another process for its time, from when that is found', async () => {
    const scene = new Scene();
    await scene.keepOrTake();
    scene.holder = 'other';
    scene.nowMs = 500_000;
    assert.deepEqual(await scene.keepOrTake(), leftToOther);
    scene.nowMs += othersTurnMs - 1;
    assert.deepEqual(await scene.keepOrTake(), leftToOther);
    scene.nowMs += 1;
    assert.deepEqual(await scene.keepOrTake(), [false, ['heartbeat', 'lost', 'read', ...taken]]);
    assert.deepEqual(await scene.keepOrTake(), [true, ['heartbeat']]);
    // The next one has its whole time.
    scene.holder = 'other';
    assert.deepEqual(await scene.keepOrTake(), leftToOther);
    scene.nowMs += othersTurnMs - 1;
    assert.deepEqual(await scene.keepOrTake(), leftToOther);
  });

  it('is taken again where nothing of it is stored', async () => {
    const scene = new Scene();
    await scene.keepOrTake();
    scene.holder = undefined;
    assert.deepEqual(await scene.keepOrTake(), [false, ['heartbeat', 'lost', 'read', ...taken]]);
  });

  it('is not known to be lost, nor taken, after an error of another kind', async () => {
    const scene = new Scene();
    await scene.keepOrTake();
    const failure = new Error('no server');
    scene.failure = failure;
    assert.deepEqual(await scene.keepOrTake(), [failure, ['heartbeat']]);
    assert.deepEqual(await scene.keepOrTake(), [true, ['heartbeat']]);
  });

  it('whose taking fails is taken by the next attempt', async () => {
    const scene = new Scene();
    const failure = new Error('no majority');
    scene.holder = 'other';
    scene.failure = failure;
    assert.deepEqual(await scene.keepOrTake(), [failure, ['forget connections', 'claim']]);
    assert.deepEqual(await scene.keepOrTake(), [false, taken]);
  });
});
