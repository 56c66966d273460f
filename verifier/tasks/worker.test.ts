import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RetryWarnings } from '../../mongo/retry-warnings.ts';
import { createLogger } from '../../service/logger.ts';
import type { ClaimedTask } from '../store/records.ts';
import type { ResultStores } from './results.ts';
import type { TaskContext } from './run-task.ts';
import { runTasks } from './worker.ts';

/** Tasks about names that neither side has, and what becomes of them. */
class Scene {
  /** To be claimed, one list at a time. */
  readonly claims: string[][];
  readonly weights: number[] = [];
  /** Releases and claims, in their order. */
  readonly asked: string[] = [];
  readonly begun: string[] = [];
  readonly underWay: string[] = [];
  readonly ended: string[] = [];
  readonly stop = new AbortController();
  doneCount = 0;
  mostUnderWay = 0;
  /** Called while a task is under way. */
  onTask: (name: string) => Promise<void> = async () => {
    await nextTurn();
  };

  constructor(...claims: string[][]) {
    this.claims = claims;
  }

  async run(workers: number): Promise<void> {
    const stores = {
      tasks: {
        releaseOf: async (_: unknown, owner: string) => {
          await nextTurn();
          this.asked.push(`release of ${owner}`);
        },
        claim: async (_: unknown, weight: number) => {
          this.asked.push('claim');
          this.weights.push(weight);
          await nextTurn();
          return (this.claims.shift() ?? []).map(taskOf);
        },
        end: async (ends: readonly { readonly task: ClaimedTask }[]) => {
          await nextTurn();
          this.ended.push(...ends.map(({ task }) => task.key));
        },
      },
      rechecks: { add: () => Promise.resolve() },
      mismatches: { add: () => Promise.resolve() },
    } as unknown as ResultStores;
    const task = {
      kind: 'first',
      catalog: {
        pair: async (namespace: ClaimedTask['namespace']) => {
          this.begun.push(namespace.coll);
          this.underWay.push(namespace.coll);
          this.mostUnderWay = Math.max(this.mostUnderWay, this.underWay.length);
          await this.onTask(namespace.coll);
          this.underWay.splice(this.underWay.indexOf(namespace.coll), 1);
          return { namespace, source: undefined, destination: undefined };
        },
      },
      monitor: { retryWarnings: new RetryWarnings(), addRetry: () => undefined },
      logger: createLogger('test', 'fatal'),
      signal: this.stop.signal,
    } as unknown as TaskContext;
    await runTasks({
      plan: { run: 'r', generation: 0, epoch: 1 },
      kind: 'first',
      owner: 'me',
      ...{ stores, workers, task },
      onDone: () => {
        assert.deepEqual(this.underWay, []);
        this.doneCount += 1;
      },
    });
  }
}

function taskOf(name: string): ClaimedTask {
  return {
    namespace: { db: 'shop', coll: name },
    work: { kind: 'metadata' },
    expected: { documents: 0, bytes: 0 },
    ...{ key: name, claim: 'c', claims: 1 },
  };
}

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `task ${n}`);

describe('runTasks', () => {
  it('carries out what can be claimed, as many at a time as there are workers', async () => {
    const scene = new Scene(names(8), ['later']);
    await scene.run(2);
    assert.deepEqual(scene.ended.toSorted(), [...names(8), 'later'].sort());
    assert.equal(scene.mostUnderWay, 2);
    assert.ok(scene.weights.every((weight) => weight === 8));
    assert.equal(scene.doneCount, 1);
  });

  it('releases what it may have left behind, before it claims anything', async () => {
    const scene = new Scene(['task']);
    await scene.run(1);
    assert.deepEqual(scene.asked, ['release of me', 'claim', 'claim']);
  });

  it('says nothing of results if there was nothing to do', async () => {
    const scene = new Scene();
    await scene.run(3);
    assert.equal(scene.doneCount, 0);
  });

  it('claims again when a task has ended: it may have been split into more', async () => {
    const scene = new Scene(['large']);
    scene.onTask = async (name) => {
      // Long enough that the other workers have found nothing to claim.
      for (let turn = 0; turn < 20; turn++) await nextTurn();
      if (name === 'large') scene.claims.push(names(4));
    };
    await scene.run(3);
    assert.deepEqual(scene.ended.toSorted(), ['large', ...names(4)]);
    assert.ok(scene.mostUnderWay > 1, 'the parts are shared among the workers');
  });

  it('fails with the error of a task, and begins no other', async () => {
    const scene = new Scene(['good', 'bad'], ['later']);
    scene.onTask = async (name) => {
      if (name === 'bad') throw new Error('a fault');
      for (let turn = 0; turn < 20; turn++) await nextTurn();
    };
    await assert.rejects(scene.run(2), /a fault/);
    assert.deepEqual(scene.begun, ['good', 'bad']);
    assert.equal(scene.doneCount, 0);
  });

  it('ends with the reason of its signal', async () => {
    const scene = new Scene(names(2), ['later']);
    scene.onTask = async () => {
      scene.stop.abort(new Error('enough'));
      await nextTurn();
    };
    await assert.rejects(scene.run(1), /enough/);
    assert.deepEqual(scene.begun, ['task 0']);
    assert.equal(scene.doneCount, 0);
  });
});
