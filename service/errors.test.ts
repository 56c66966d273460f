import assert from 'node:assert/strict';
import { messageOf, SyncError } from './errors.ts';

describe('errors', () => {
  it('cut a long description, and never show half of a password', () => {
    const uri = 'mongodb://user:secret@host/';
    for (const before of [0, 8170, 8180, 8190, 8192, 100_000]) {
      const text = `${'x'.repeat(before)} ${uri} ${'y'.repeat(20_000)}`;
      for (const told of [
        new SyncError('InternalError', text).message,
        messageOf(new Error(text)),
      ]) {
        assert.ok(told.length <= 8192);
        assert.doesNotMatch(told, /sec|user/);
        assert.match(told, /… \(cut\)$/);
      }
    }
  });

  it('show a short description in full, once', () => {
    const text = 'x'.repeat(8192);
    assert.equal(new SyncError('InternalError', text).message, text);
    assert.equal(messageOf(new SyncError('InternalError', text)), text);
    const cut = messageOf(new Error(`${text}y`));
    assert.equal(new SyncError('InternalError', cut).message, cut);
  });
});
