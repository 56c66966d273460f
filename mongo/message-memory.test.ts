import assert from 'node:assert/strict';
import { MessageMemory } from './message-memory.ts';

const mebibyte = 1024 * 1024;

describe('MessageMemory', () => {
  it('gives memory again that was given back, for an answer of about the same length', () => {
    const memory = new MessageMemory();
    const first = memory.take(4 * mebibyte);
    const second = memory.take(4 * mebibyte);
    assert.notEqual(second.buffer, first.buffer);
    // What is given back is a part of an answer.
    memory.giveBack(first.subarray(100, 200));
    assert.notEqual(memory.take(1.5 * mebibyte).buffer, first.buffer);
    const third = memory.take(4 * mebibyte + 1000);
    assert.notEqual(third.buffer, first.buffer);
    const fourth = memory.take(4 * mebibyte - 1000);
    assert.equal(fourth.buffer, first.buffer);
    assert.equal(fourth.length, 4 * mebibyte - 1000);
  });

  it('gives it to one at a time, though it is given back twice', () => {
    const memory = new MessageMemory();
    const first = memory.take(mebibyte);
    memory.giveBack(first);
    memory.giveBack(first);
    assert.notEqual(memory.take(mebibyte).buffer, memory.take(mebibyte).buffer);
  });

  it('takes no other memory, and keeps some tens of megabytes at most', () => {
    const memory = new MessageMemory();
    const other = Buffer.alloc(2 * mebibyte);
    memory.giveBack(other);
    assert.notEqual(memory.take(2 * mebibyte).buffer, other.buffer);
    const many = Array.from({ length: 10 }, () => memory.take(16 * mebibyte));
    for (const one of many) memory.giveBack(one);
    const known = new Set(many.map(({ buffer }) => buffer));
    const again = many.map(() => memory.take(16 * mebibyte));
    assert.equal(again.filter(({ buffer }) => known.has(buffer)).length, 3);
  });
});
