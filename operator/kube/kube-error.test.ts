import assert from 'node:assert/strict';
import {
  errorOfStatus,
  isAlreadyExists,
  isConflict,
  isGone,
  isInvalid,
  isNotFound,
} from './kube-error.ts';

describe('errorOfStatus', () => {
  it('takes reason and message of the Status', () => {
    const body = { kind: 'Status', reason: 'NotFound', message: 'pods "a" not found', code: 404 };
    const error = errorOfStatus('GET /api', 404, body);
    assert.equal(error.reason, 'NotFound');
    assert.equal(error.message, 'GET /api: 404 NotFound: pods "a" not found');
  });

  for (const body of ['Bad Gateway', '', null, undefined, 7, [], { reason: 7 }]) {
    it(`stands ${JSON.stringify(body)} for a body`, () => {
      const error = errorOfStatus('GET /api', 502, body, '3');
      assert.equal(error.reason, 'Unknown');
      assert.equal(error.statusCode, 502);
      assert.equal(error.retryAfterMs, 3000);
    });
  }

  it('keeps connection strings out of its message, no matter who put them there', () => {
    const uri = 'mongodb://user:secret@host/';
    for (const body of [{ reason: 'Invalid', message: `no ${uri}` }, { reason: uri }, uri]) {
      const { message } = errorOfStatus(`GET /api?name=${uri}`, 422, body);
      assert.doesNotMatch(message, /secret/);
      assert.ok(message.split('mongodb://<credentials>@host/').length > 2, message);
    }
  });

  it('knows no waiting time from a header that is none', () => {
    assert.equal(errorOfStatus('GET /api', 503, '', 'soon').retryAfterMs, undefined);
    assert.equal(errorOfStatus('GET /api', 503, '').retryAfterMs, undefined);
  });
});

describe('is...', () => {
  it('tells the kinds of errors apart', () => {
    const kinds = { isNotFound, isConflict, isAlreadyExists, isGone, isInvalid };
    const cases = [
      [404, 'NotFound', 'isNotFound'],
      [409, 'Conflict', 'isConflict'],
      [409, 'AlreadyExists', 'isAlreadyExists'],
      [410, 'Expired', 'isGone'],
      [422, 'Invalid', 'isInvalid'],
      [500, 'InternalError', undefined],
    ] as const;
    for (const [code, reason, wanted] of cases) {
      const error = errorOfStatus('GET /', code, { reason });
      const found = Object.entries(kinds).filter(([, is]) => is(error));
      assert.deepEqual(
        found.map(([name]) => name),
        wanted === undefined ? [] : [wanted],
      );
    }
    assert.equal(isNotFound(new Error('404')), false);
  });
});
