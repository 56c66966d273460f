import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import { SyncError } from '../../service/errors.ts';
import { LiveSync, type RecordPlace } from './live-sync.ts';
import type { SyncRecord, SyncView } from './records.ts';
import { reversibleSync } from '../testing/reversible-sync.ts';

const running: SyncRecord = {
  ...reversibleSync(),
  phase: 'changes',
};

/** A store in memory that answers when it is told to. */
class Memory {
  record: SyncRecord = running;
  /** What precedes each answer. */
  before: (call: string) => Promise<void> = async () => {
    await Promise.resolve();
  };
  /** Called when a call is done; may throw, to lose the answer. */
  after: (call: string) => void = () => undefined;

  get store(): RecordPlace {
    const call = async <T>(name: string, act: () => T): Promise<T> => {
      await this.before(name);
      const answer = act();
      this.after(name);
      return await Promise.resolve(answer);
    };
    return {
      readSync: async () => {
        const { record } = this;
        return await call('readSync', () => record);
      },
      updateSync: async (change, condition) =>
        await call('updateSync', () => {
          const { phase, startedAt } = { ...this.record, ...condition };
          const isSame = startedAt.getTime() === this.record.startedAt.getTime();
          if (phase !== this.record.phase || !isSame) return false;
          this.record = { ...this.record, ...change };
          return true;
        }),
      addWarning: async (warning) => {
        await call('addWarning', () => {
          this.record = { ...this.record, warnings: [...this.record.warnings, warning] };
        });
      },
      setPaused: async () => {
        await call('setPaused', () => undefined);
      },
      receiveCommand: async ({ commandCount }, first) =>
        await call('receiveCommand', () => {
          const number = first ? commandCount + 1 : commandCount;
          const { record } = this;
          if (record.commandCount === number && record.received[0] === number) return true;
          if (record.commandCount !== commandCount) return false;
          this.record = { ...record, ...first, received: [number], commandCount: number };
          return true;
        }),
      lease: { read: async () => await call('lease', () => null) },
    };
  }
}

function liveOn(memory: Memory): LiveSync {
  return new LiveSync('syncer', memory.record, () => memory.store);
}

/** Holds back the next read of the record until the returned function is called. */
function holdNextRead(memory: Memory): () => void {
  const held = Promise.withResolvers<undefined>();
  let isHeld = false;
  memory.before = async (call) => {
    if (call !== 'readSync' || isHeld) return;
    isHeld = true;
    await held.promise;
  };
  return () => {
    held.resolve(undefined);
  };
}

describe('LiveSync', () => {
  it('knows of a command when it is received, also where the record changes while it is read', async () => {
    const memory = new Memory();
    const live = liveOn(memory);
    const release = holdNextRead(memory);
    const received = live.receiving('commit', { state: 'COMMITTING' })();
    await live.addWarning('something');
    release();
    await received;
    assert.equal(live.current.state, 'COMMITTING');
    assert.deepEqual(live.current.warnings, ['something']);
  });

  it('keeps what it has read last, whatever is answered first', async () => {
    const memory = new Memory();
    const live = liveOn(memory);
    const release = holdNextRead(memory);
    const early = live.refresh();
    memory.record = { ...memory.record, phase: 'restoring' };
    await live.refresh();
    release();
    await early;
    assert.equal(live.current.phase, 'restoring');
  });

  it('knows a commit time, or that it is about to be, from when it is given the commit', async () => {
    const memory = new Memory();
    const live = liveOn(memory);
    memory.record = { ...memory.record, isFixingCommitTime: true };
    assert.equal(await live.findCommitTime(), null, 'not given: it is not asked for');
    await live.receiving('commit', { state: 'COMMITTING' })();
    assert.equal(await live.findCommitTime(), 'awaited');
    const commitTime = new Timestamp({ t: 5, i: 1 });
    memory.record = { ...memory.record, commitTime };
    assert.deepEqual(await live.findCommitTime(), commitTime);
  });

  it('knows that a commit time is about to be known where the answer to the commit is lost', async () => {
    const memory = new Memory();
    const live = liveOn(memory);
    memory.after = (call) => {
      if (call === 'receiveCommand') throw new Error('lost');
    };
    await assert.rejects(live.receiving('commit', { state: 'COMMITTING' })(), /lost/);
    memory.after = () => undefined;
    memory.record = { ...memory.record, isFixingCommitTime: true };
    assert.equal(live.current.state, 'RUNNING', 'the record was not read since');
    assert.equal(await live.findCommitTime(), 'awaited');
  });

  it('gives a command once where its answer is lost, and others have read the record meanwhile', async () => {
    for (const lost of ['receiveCommand', 'readSync']) {
      const memory = new Memory();
      const live = liveOn(memory);
      const receive = live.receiving('commit', { state: 'COMMITTING' });
      memory.after = (call) => {
        if (call === lost) throw new Error('lost');
      };
      await assert.rejects(receive(), /lost/);
      memory.after = () => undefined;
      await live.refresh();
      await receive();
      const { commandCount, formerState } = memory.record;
      assert.deepEqual({ commandCount, formerState }, { commandCount: 2, formerState: 'RUNNING' });
    }
  });

  it('gives no command where another process of the same name is given it at the same time', async () => {
    const memory = new Memory();
    const other = liveOn(memory);
    const beaten: RecordPlace = {
      ...memory.store,
      receiveCommand: async () => {
        await other.receiving('commit', { state: 'COMMITTING' })();
        return false;
      },
    };
    const live = new LiveSync('syncer', memory.record, () => beaten);
    await assert.rejects(
      live.receiving('commit', { state: 'COMMITTING' })(),
      /received other commands elsewhere/,
    );
    assert.equal(memory.record.commandCount, 2);
  });

  it('is paused by a reset, also where this instance was not given its start', () => {
    const notStarted = { received: [0], commandCount: 1, formerState: 'IDLE' } as const;
    const reset = { destination: 'Keep', received: [], ended: [] } as const;
    const shown = (change: Partial<SyncRecord>): SyncView | undefined =>
      new LiveSync('syncer', { ...running, ...change }, () => new Memory().store).record;
    assert.equal(shown({ ...notStarted, reset }), undefined);
    assert.equal(shown({ reset })?.state, 'RUNNING');
    const received = { ...reset, received: ['syncer'] };
    for (const change of [notStarted, {}])
      assert.equal(shown({ ...change, reset: received })?.state, 'PAUSED');
  });

  it('works on no other sync that has taken the place of its own in the store', async () => {
    const memory = new Memory();
    const live = liveOn(memory);
    await live.refresh();
    await live.requireUnchanged();
    memory.record = { ...running, startedAt: new Date(running.startedAt.getTime() + 1) };
    const isAnother = { name: 'SupersededByOtherInstance', message: /belongs to another sync/ };
    await assert.rejects(live.requireUnchanged(), isAnother);
    await assert.rejects(live.refresh(), isAnother);
    assert.deepEqual(live.stored, running);
  });
});

describe('a command that is sent to the store', () => {
  const outcomes = {
    success: null,
    'a lasting error': new SyncError('SupersededByOtherInstance', 'another'),
    'a temporary error': new SyncError('ClusterUnreachable', 'gone'),
    'an unknown error': new Error('lost'),
  } as const;
  const cases = [
    ['commit', 'success', false],
    ['commit', 'a lasting error', false],
    ['commit', 'a temporary error', true],
    ['commit', 'an unknown error', true],
    ['pause', 'success', false],
    ['pause', 'a lasting error', false],
    ['pause', 'a temporary error', false],
    ['pause', 'an unknown error', false],
  ] as const;
  for (const [command, outcome, isKept] of cases)
    it(`${command}: is ${isKept ? 'still' : 'no longer'} sent after ${outcome}`, async () => {
      const live = liveOn(new Memory());
      const error = outcomes[outcome];
      const { promise, resolve, reject } = Promise.withResolvers<undefined>();
      const sending = live.sending(command, async () => {
        await promise;
      });
      const sent = (): string | undefined => live.sent?.command;
      assert.equal(sent(), command, 'while it is on its way');
      if (error) reject(error);
      else resolve(undefined);
      if (error) await assert.rejects(sending, error);
      else await sending;
      assert.equal(sent(), isKept ? command : undefined);
    });
});

describe('limits', () => {
  const limits = { maxChangesPerSecond: 7 };

  it('are stored whatever the phase has become', async () => {
    const memory = new Memory();
    memory.record = { ...running, phase: 'copy' };
    const live = liveOn(memory);
    memory.record = running;
    await live.setLimits(limits);
    assert.deepEqual(memory.record.limits, limits);
    assert.deepEqual(live.stored.limits, limits);
  });

  it('are not stored with another sync that was started since', async () => {
    const memory = new Memory();
    const live = liveOn(memory);
    memory.record = { ...running, startedAt: new Date(0) };
    await assert.rejects(live.setLimits(limits), { name: 'SupersededByOtherInstance' });
    assert.deepEqual(memory.record.limits, {});
  });

  it('are refused while a reversal moves the record: they would stay with the former one', async () => {
    const known = new Memory();
    known.record = { ...running, phase: 'handover' };
    const refused = { name: 'InvalidStateTransition' };
    await assert.rejects(liveOn(known).setLimits(limits), refused);
    const memory = new Memory();
    const live = liveOn(memory);
    // Another instance was given the reversal.
    memory.record = { ...running, phase: 'handover' };
    await assert.rejects(live.setLimits(limits), refused);
    for (const { record } of [known, memory]) assert.deepEqual(record.limits, {});
  });
});
