import assert from 'node:assert/strict';
import { errorIn } from './http-api.ts';
import { maySend, retryDelayMs, type CommandState, type Observation } from './observation.ts';
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

describe('maySend', () => {
  const error = { name: 'InvalidBody', description: 'what is wrong', isLasting: true };
  const refused = (name: string, request: string): CommandState<string> => ({
    ...({ name, request, kind: 'refused', error } as const),
    ...{ attempts: 1, endedMs: 1_000, retryAtMs: 10_000 },
  });
  const observed = (
    command: CommandState<string>,
    ...formerCommands: CommandState<string>[]
  ): Observation<unknown, string> => ({
    ...{ process: 'one', answer: undefined, askedMs: 2_000, unreachable: undefined },
    ...{ command, formerCommands },
  });

  it('waits with each of several refused commands, whichever of them was sent last', () => {
    const [limits, repair] = [refused('limits', 'a'), refused('repair', 'b')];
    for (const both of [observed(limits, repair), observed(repair, limits)]) {
      for (const { name, request } of [limits, repair]) {
        assert.equal(maySend(both, name, 9_999, request), false);
        assert.equal(maySend(both, name, 10_000, request), true);
      }
      assert.equal(maySend(both, 'limits', 9_999, 'other'), true);
      assert.equal(maySend(both, 'pause', 9_999), true);
    }
  });

  it('sends a refused command again at once when another one was taken', () => {
    const reset = { name: 'reset', kind: 'taken', endedMs: 1_500 } as const;
    assert.equal(maySend(observed(reset, refused('start', 'a')), 'start', 2_000, 'a'), true);
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
