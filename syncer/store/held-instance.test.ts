import assert from 'node:assert/strict';
import { WriteGuard, type WriteRight } from '../../mongo/write-guard.ts';
import { HeldInstance, type Claimant } from './held-instance.ts';

type From = Parameters<Claimant['takeOwnership']>[0];

describe('HeldInstance', () => {
  /** Claims, and the incarnations from which each was to take the instance. */
  function claims(): { readonly asked: From[]; readonly next: (fails?: boolean) => Claimant } {
    const asked: From[] = [];
    let count = 0;
    const next = (fails = false): Claimant =>
      ({
        incarnation: `claim ${(count += 1)}`,
        ownership: { isNeededFor: () => true } as unknown as WriteRight,
        takeOwnership: async (from: From) => {
          asked.push(from);
          await Promise.resolve();
          if (fails) throw new Error('no answer');
          return {};
        },
      }) as unknown as Claimant;
    return { asked, next };
  }

  it('supersedes another process once on a cluster, and then only follows itself', async () => {
    const held = new HeldInstance();
    const { asked, next } = claims();
    const guard = new WriteGuard();
    await held.claim(next(), guard);
    await held.claim(next(), guard);
    await assert.rejects(held.claim(next(true), guard));
    await held.claim(next(), guard);
    assert.deepEqual(asked, [
      'anyone',
      ['claim 1', 'claim 2'],
      ['claim 2', 'claim 3'],
      ['claim 2', 'claim 3', 'claim 4'],
    ]);
  });

  it('takes from nobody in a state that was moved, until it is forgotten', async () => {
    const held = new HeldInstance();
    const { asked, next } = claims();
    const [one, other] = [new WriteGuard(), new WriteGuard()];
    await held.claim(next(), one);
    await held.claim(next(), other);
    await held.claim(next(), one);
    held.forget();
    await held.claim(next(), one);
    assert.deepEqual(asked, ['anyone', ['claim 2'], ['claim 3'], 'anyone']);
  });

  it('claims before it writes where a reversal has moved the state', async () => {
    const held = new HeldInstance();
    const { asked, next } = claims();
    const [one, other] = [new WriteGuard(), new WriteGuard()];
    await held.claim(next(), one);
    held.endWork();
    const late = next();
    await held.write(
      other,
      () => late,
      async () => {
        await Promise.resolve();
        assert.equal(other.right, late.ownership);
      },
    );
    assert.equal(other.right, undefined);
    await assert.rejects(
      held.write(one, () => next(true), unreachable),
      /no answer/,
    );
    assert.deepEqual(asked, ['anyone', ['claim 2'], ['claim 3']]);
  });

  it('claims before it writes where a claim was not answered', async () => {
    const held = new HeldInstance();
    const { asked, next } = claims();
    const guard = new WriteGuard();
    await assert.rejects(held.claim(next(true), guard));
    await assert.rejects(
      held.write(guard, () => next(true), unreachable),
      /no answer/,
    );
    const answered = next();
    await held.write(
      guard,
      () => answered,
      async () => {
        await Promise.resolve();
        assert.equal(guard.right, answered.ownership);
      },
    );
    await assert.rejects(held.claim(next(true), guard));
    await held.write(guard, next, async () => {
      await Promise.resolve();
    });
    await held.write(guard, unreachable, async () => {
      await Promise.resolve();
    });
    assert.deepEqual(asked, [
      'anyone',
      'anyone',
      'anyone',
      ['claim 3', 'claim 4'],
      ['claim 3', 'claim 4', 'claim 5'],
    ]);
  });

  it('is taken before the first work, and needs the right for commands from then on', async () => {
    const held = new HeldInstance();
    const { asked, next } = claims();
    const guard = new WriteGuard();
    const taken = next();
    await held.takePlace(taken, guard);
    assert.equal(guard.right, undefined);
    await held.write(guard, unreachable, async () => {
      await Promise.resolve();
      assert.equal(guard.right, taken.ownership);
    });
    await held.claim(next(), guard);
    await held.takePlace(next(), guard);
    assert.deepEqual(asked, ['anyone', ['claim 1', 'claim 2']]);
  });

  it('lets a write wait for a claim that is under way, and then have the new right', async () => {
    const held = new HeldInstance();
    const { next } = claims();
    const guard = new WriteGuard();
    await held.claim(next(), guard);
    held.endWork();
    const answer = Promise.withResolvers<undefined>();
    const second = next();
    const { takeOwnership } = second;
    const slow: Claimant = {
      ...second,
      takeOwnership: async (from) => {
        await answer.promise;
        return await takeOwnership(from);
      },
    };
    const rights: (WriteRight | undefined)[] = [];
    const claiming = held.claim(slow, guard);
    const writing = held.write(guard, unreachable, async () => {
      await Promise.resolve();
      rights.push(guard.right);
    });
    answer.resolve(undefined);
    await Promise.all([claiming, writing]);
    assert.deepEqual(rights, [second.ownership]);
  });

  it('needs the right for all writes while it works, and between for those of commands', async () => {
    const held = new HeldInstance();
    const { next } = claims();
    const guard = new WriteGuard();
    const rights: (WriteRight | undefined)[] = [];
    const note = async (): Promise<void> => {
      await Promise.resolve();
      rights.push(guard.right);
    };
    await held.write(guard, unreachable, note);
    const { ownership: first } = await claimed(held, next(), guard);
    assert.equal(guard.right, first);
    await held.write(guard, unreachable, note);
    assert.equal(guard.right, first);
    held.endWork();
    assert.equal(guard.right, undefined);
    await Promise.all([held.write(guard, unreachable, note), held.write(guard, unreachable, note)]);
    assert.equal(guard.right, undefined);
    assert.deepEqual(rights, [undefined, first, first, first]);
  });

  it('keeps the right of work that begins or ends while a command is stored', async () => {
    const held = new HeldInstance();
    const { next } = claims();
    const guard = new WriteGuard();
    const { ownership: first } = await claimed(held, next(), guard);
    await held.write(guard, unreachable, async () => {
      await Promise.resolve();
      held.endWork();
      assert.equal(guard.right, first);
    });
    assert.equal(guard.right, undefined);
    let second: WriteRight | undefined;
    await held.write(guard, unreachable, async () => {
      second = (await claimed(held, next(), guard)).ownership;
    });
    assert.ok(second !== undefined && second !== first);
    assert.equal(guard.right, second);
    held.endWork();
    assert.equal(guard.right, undefined);
  });

  async function claimed(
    held: HeldInstance,
    claimant: Claimant,
    guard: WriteGuard,
  ): Promise<Claimant> {
    await held.claim(claimant, guard);
    return claimant;
  }
});

function unreachable(): never {
  throw new Error('it is not to be called');
}
