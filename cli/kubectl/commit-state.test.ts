import assert from 'node:assert/strict';
import type { JsonObject } from '../../service/json-fields.ts';
import { commitState, stateBeforeCommit } from './commit-state.ts';
import { readSync } from './resources.ts';

const ready = { type: 'Ready', status: 'False', reason: 'WaitingForCanCommit', message: 'not yet' };
const committed = { type: 'Committed', status: 'True', reason: 'Committed', message: '' };
const stalled = { type: 'Stalled', status: 'True', reason: 'SyncFailed', message: 'it stopped' };

/** A ClusterSync whose commit was requested in generation 3. */
function requested(status: JsonObject, spec: JsonObject = {}): JsonObject {
  return {
    metadata: { name: 'shop', generation: 3 },
    spec: { state: 'Committed', ...spec },
    status,
  };
}

describe('stateBeforeCommit', () => {
  it('shows the lag, and the condition ReadyToCommit with its message', () => {
    const conditions = [
      {
        type: 'ReadyToCommit',
        status: 'False',
        reason: 'WaitingForLag',
        message: 'the lag is 65 s',
      },
    ];
    const sync = readSync({
      metadata: { name: 'shop' },
      spec: { source: { name: 'old' }, destination: { name: 'new' } },
      status: { phase: 'ChangeApplication', lagTimeSeconds: 65, conditions },
    });
    assert.equal(
      stateBeforeCommit(sync),
      [
        'sync           shop  (old -> new)',
        'phase          ChangeApplication',
        'lag            1 min 5 s',
        'ReadyToCommit  False (WaitingForLag): the lag is 65 s',
        '',
      ].join('\n'),
    );
  });

  it('says what is unknown, and the direction of a reversal', () => {
    const sync = readSync({
      metadata: { name: 'shop' },
      spec: { source: { name: 'old' }, destination: { name: 'new' } },
      status: { direction: 'Reverse' },
    });
    assert.equal(
      stateBeforeCommit(sync),
      [
        'sync           shop  (old <- new)',
        'phase          Pending',
        'lag            unknown',
        'ReadyToCommit  unknown',
        '',
      ].join('\n'),
    );
  });
});

describe('commitState', () => {
  const cases: readonly (readonly [string, JsonObject, ReturnType<typeof commitState>])[] = [
    [
      'a request that the operator has not seen, whatever was before',
      requested({ observedGeneration: 2, conditions: [committed, stalled] }),
      { kind: 'waiting', text: 'the operator has not seen the request yet' },
    ],
    [
      'a sync without a status',
      requested({}),
      { kind: 'waiting', text: 'the operator has not seen the request yet' },
    ],
    [
      'that the request was withdrawn, as to go back',
      requested({ observedGeneration: 3, conditions: [committed] }, { state: 'Running' }),
      { kind: 'withdrawn', text: 'its spec no longer has the state Committed' },
    ],
    [
      'what the commit waits for',
      requested({ observedGeneration: 3, phase: 'ChangeApplication', conditions: [ready] }),
      { kind: 'waiting', text: 'ChangeApplication (WaitingForCanCommit): not yet' },
    ],
    [
      'a phase alone',
      requested({ observedGeneration: 3, phase: 'Committing' }),
      { kind: 'waiting', text: 'Committing' },
    ],
    [
      'what needs a person',
      requested({ observedGeneration: 4, phase: 'Stalled', conditions: [ready, stalled] }),
      { kind: 'stalled', text: 'SyncFailed: it stopped' },
    ],
    [
      'a commit, even if something needs a person since',
      requested({ observedGeneration: 3, phase: 'Stalled', conditions: [stalled, committed] }),
      { kind: 'committed', text: 'Committed' },
    ],
    [
      'a commit under way, of whose end the operator says that it has not come',
      requested({
        observedGeneration: 3,
        phase: 'Committing',
        conditions: [
          { ...committed, status: 'False' },
          { ...stalled, status: 'False' },
        ],
      }),
      { kind: 'waiting', text: 'Committing' },
    ],
    [
      'the commit of a reversal',
      requested(
        { observedGeneration: 3, direction: 'Reverse', conditions: [committed] },
        { direction: 'Reverse' },
      ),
      { kind: 'committed', text: 'Committed' },
    ],
    [
      'the commit before the reversal that is to be committed',
      requested(
        {
          observedGeneration: 3,
          phase: 'Committed',
          direction: 'Forward',
          conditions: [committed],
        },
        { direction: 'Reverse' },
      ),
      { kind: 'waiting', text: 'Committed, and not reversed yet' },
    ],
  ];
  for (const [what, object, expected] of cases) {
    it(`tells ${what}`, () => {
      assert.deepEqual(commitState(object), expected);
    });
  }
});
