import assert from 'node:assert/strict';
import { systemClock } from '../kube/clock.ts';
import { WritePace } from './write-pace.ts';

/** Objects that are checked every second, and written whenever their pace allows it. */
class Objects {
  readonly writes: { readonly key: string; readonly atMs: number }[] = [];
  readonly #written = new Map<string, number>();
  readonly #pace: WritePace;
  #nowMs = 0;

  constructor() {
    this.#pace = new WritePace({ ...systemClock, monotonicMs: () => this.#nowMs });
  }

  /**
   * Lets the figures of the first `moving` of them change for some time.
   * @param isBack - whether an object's figures in a second are the written ones.
   */
  move(moving: number, forMs: number, isBack = (_index: number, _second: number) => false): void {
    for (const endMs = this.#nowMs + forMs; this.#nowMs < endMs; this.#nowMs += 1_000) {
      for (let index = 0; index < moving; index++) {
        const key = String(index);
        if (isBack(index, this.#nowMs / 1_000)) this.#pace.pass(key);
        else if (this.#pace.waitMs(key, this.#written.get(key)) === 0) this.#write(key);
      }
    }
  }

  /** Writes all of them now: something urgent has changed. */
  writeAll(count: number): void {
    for (let index = 0; index < count; index++) this.#write(String(index));
    this.writes.length = 0;
  }

  /** The most writes in a minute. */
  mostInMinute(): number {
    let first = 0;
    const counts = this.writes.map(({ atMs }, last) => {
      while ((this.writes[first]?.atMs ?? atMs) <= atMs - 60_000) first += 1;
      return last - first + 1;
    });
    return Math.max(...counts);
  }

  /** The longest time from one write of an object to its next. */
  longestMs(): number {
    const last = new Map<string, number>();
    let longestMs = 0;
    for (const { key, atMs } of this.writes) {
      longestMs = Math.max(longestMs, atMs - (last.get(key) ?? atMs));
      last.set(key, atMs);
    }
    return longestMs;
  }

  #write(key: string): void {
    this.#pace.settle(key);
    this.#written.set(key, this.#nowMs);
    this.writes.push({ key, atMs: this.#nowMs });
  }
}

describe('WritePace', () => {
  it('lets one object write every two seconds', () => {
    const objects = new Objects();
    objects.move(1, 60_000);
    assert.equal(objects.writes.length, 30);
  });

  for (const count of [10, 100, 400]) {
    it(`lets ${count} objects write less than once a second for each hundred, in any minute`, () => {
      const objects = new Objects();
      objects.writeAll(count);
      objects.move(count, 600_000);
      const allowed = 60 * Math.max(1, count / 100);
      const most = objects.mostInMinute();
      assert.ok(most < allowed && most > allowed * 0.8, String(most));
    });
  }

  it('lets figures be written that go to and fro', () => {
    const objects = new Objects();
    objects.writeAll(100);
    objects.move(100, 600_000, (index, second) => (index + second) % 4 === 0);
    const written = new Set(objects.writes.map(({ key }) => key));
    assert.equal(written.size, 100);
    assert.ok(objects.writes.length > 300, String(objects.writes.length));
  });

  it('leaves no object out', () => {
    const objects = new Objects();
    objects.move(400, 600_000);
    assert.equal(new Set(objects.writes.map(({ key }) => key)).size, 400);
    assert.ok(objects.longestMs() < 125_000, String(objects.longestMs()));
  });

  it('leaves the share of objects that have come to rest to the others', () => {
    const objects = new Objects();
    objects.move(400, 300_000);
    objects.move(1, 300_000);
    objects.writes.length = 0;
    objects.move(1, 60_000);
    assert.equal(objects.writes.length, 30);
  });

  it('lets nobody wait for those that have given up their turn', () => {
    let nowMs = 0;
    const pace = new WritePace({ ...systemClock, monotonicMs: () => nowMs });
    for (let index = 0; index < 1_000; index++) {
      pace.waitMs(String(index), nowMs);
      pace.forget(String(index));
    }
    assert.ok(pace.waitMs('another', nowMs) <= 111_000);
    nowMs = 120_000;
    assert.ok(pace.waitMs('another', nowMs) < 60_000);
  });

  it('gives no turn in advance to what has come to be as it was', () => {
    let nowMs = 0;
    const pace = new WritePace({ ...systemClock, monotonicMs: () => nowMs });
    const keys = Array.from({ length: 50 }, (_, index) => String(index));
    for (const key of keys) pace.waitMs(key, 0);
    nowMs = 300_000;
    for (const key of keys) pace.pass(key);
    nowMs = 600_000;
    const due = keys.filter((key) => pace.waitMs(key, 0) === 0);
    assert.equal(due.length, 1);
  });

  it('gives a namespace its turn after one of another, however many wait there', () => {
    let nowMs = 0;
    const pace = new WritePace({ ...systemClock, monotonicMs: () => nowMs });
    const broken = Array.from({ length: 500 }, (_, index) => `broken/${index}`);
    for (const key of broken) pace.waitMs(key, 0);
    assert.ok(pace.waitMs('quiet/orders', 0) <= 2_000);
    const written: string[] = [];
    for (; written.length < 4; nowMs += 10) {
      const next = [...broken, 'quiet/orders'].find(
        (key) => !written.includes(key) && pace.waitMs(key, -10_000) === 0,
      );
      if (next === undefined) continue;
      written.push(next);
      pace.settle(next);
    }
    // The first had its turn, and its namespace the next one, before anybody else wanted one.
    assert.deepEqual(written, ['broken/0', 'broken/1', 'quiet/orders', 'broken/2']);
  });
});
