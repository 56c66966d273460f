import assert from 'node:assert/strict';
import { errorIn } from './http-api.ts';
import { retryDelayMs } from './observation.ts';
import { gravestCause, type ConditionCause } from './condition-cause.ts';

describe('errorIn', () => {
  it('reads the name at the beginning of the text', () => {
    assert.deepEqual(errorIn({ error: 'AuthenticationFailed: wrong password' }, false), {
      name: 'AuthenticationFailed',
      description: 'wrong password',
      isLasting: true,
    });
  });

  it('reads name and description apart', () => {
    assert.deepEqual(
      errorIn({ success: false, error: 'ClusterUnreachable', errorDescription: 'down' }, true),
      {
        name: 'ClusterUnreachable',
        description: 'down',
        isLasting: false,
      },
    );
  });

  it('takes any other text for what it is', () => {
    assert.deepEqual(errorIn({ error: 'it does not work: really' }, true), {
      name: 'ErrorReported',
      description: 'it does not work: really',
      isLasting: true,
    });
    assert.equal(errorIn({ error: 'SomethingElse: x' }, false)?.isLasting, false);
  });

  it('takes a token that is refused for a passing matter', () => {
    assert.equal(errorIn({ error: 'Unauthorized: no' }, true)?.isLasting, false);
  });

  it('finds no error where there is none', () => {
    for (const body of [undefined, null, 'error', {}, { error: null }, { error: 1 }]) {
      assert.equal(errorIn(body, true), undefined);
    }
  });

  it('keeps connection strings out', () => {
    const error = errorIn({ error: 'X1: mongodb://a:b@c/' }, true);
    assert.equal(error?.description, 'mongodb://<credentials>@c/');
  });
});

describe('retryDelayMs', () => {
  it('is short for what should pass, long for what needs somebody, and bounded', () => {
    assert.ok(retryDelayMs({ isLasting: false }, 0) <= 1_000);
    assert.ok(retryDelayMs({ isLasting: true }, 0) >= 5_000);
    assert.ok(retryDelayMs({ isLasting: false }, 50) <= 30_000);
    assert.ok(retryDelayMs({ isLasting: true }, 50) <= 300_000);
  });
});

describe('gravestCause', () => {
  const cause = (level: ConditionCause['level'], reason = 'R'): ConditionCause => ({
    level,
    reason,
    message: '',
  });

  it('is the first of the gravest', () => {
    assert.equal(gravestCause([]), undefined);
    assert.equal(
      gravestCause([undefined, cause('waiting', 'A'), cause('waiting', 'B')])?.reason,
      'A',
    );
    assert.equal(
      gravestCause([cause('waiting'), cause('stalled', 'S'), cause('warning')])?.reason,
      'S',
    );
  });
});
