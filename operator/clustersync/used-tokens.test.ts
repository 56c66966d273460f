import assert from 'node:assert/strict';
import { decide } from './decide.ts';
import type { Decision } from './decision.ts';
import { wantedDigest } from './identity.ts';
import { optionsDigestHeader } from '../../sync-api/headers.ts';
import {
  answers,
  changed,
  clusterSync,
  phaseAndReadiness,
  resetAndIdle,
  runningWorld,
} from './testing/worlds.ts';

const { copy, changes } = answers;

const begun = {
  source: { kind: 'ReplicaSet', shards: ['rs'] },
  startedAt: '2026-01-01T00:00:00Z',
} as const;

const startOver = { token: 'one', destination: 'Clean' } as const;

const commandsOf = ({ commands }: Decision): readonly string[] =>
  commands.map(({ command: { name } }) => name);

describe('a token of spec.startOver', () => {
  it('asks for nothing where it was used before another one, as when that is reverted', () => {
    const done = { token: 'one', state: 'Done' } as const;
    const two = { startOver: { ...startOver, token: 'two' } };
    const later = decide(clusterSync(two, { ...begun, startOver: done }), runningWorld(copy));
    assert.deepEqual(commandsOf(later), ['reset']);
    const { startOver: now } = later.status;
    assert.deepEqual(now, { token: 'two', state: 'Resetting', formerTokens: ['one'] });
    const ended = decide(
      clusterSync(two, { ...begun, startOver: now }),
      runningWorld(undefined, { observation: resetAndIdle }),
    );
    const status = { ...begun, ...ended.status };
    assert.deepEqual(status.startOver, { ...now, state: 'Done' });
    // As a reverted Git commit puts it back.
    const back = decide(clusterSync({ startOver }, status), runningWorld(changes));
    assert.deepEqual(back.commands, []);
    const refusal = { token: 'one', state: 'Refused', formerTokens: ['two'] } as const;
    assert.deepEqual(back.status.startOver, refusal);
    const [event] = back.events.filter(({ reason }) => reason === 'StartOverRefused');
    assert.match(event?.note ?? '', /the token was used before/);
    const forth = decide(
      clusterSync(two, { ...status, startOver: refusal }),
      runningWorld(changes),
    );
    assert.deepEqual(forth.commands, []);
    const three = { startOver: { ...startOver, token: 'three' } };
    assert.deepEqual(commandsOf(decide(clusterSync(three, status), runningWorld(copy))), ['reset']);
  });
});

describe('a start-over that is refused', () => {
  const present = wantedDigest(clusterSync({ initialData: 'Present' }));
  const running = changed(changes, { optionsDigest: present });
  const done = { token: 'two', state: 'Done', formerTokens: ['one'] } as const;
  const refused = { token: 'one', state: 'Refused', formerTokens: ['two'] } as const;
  const back = { startOver, initialData: 'Absent' } as const;

  for (const [what, spec, status] of [
    ['by a reverted token', back, { ...begun, startOver: done }],
    ['and has been recorded', back, { ...begun, startOver: refused }],
    ['and is taken out', { initialData: 'Absent' }, { ...begun, startOver: refused }],
    [
      'since the sync was committed',
      { startOver: { ...startOver, token: 'three' } },
      { ...begun, startOver: done, committedAt: '2026-01-01T10:00:00Z' },
    ],
  ] as const) {
    it(`${what}: does not change what the sync began with either`, () => {
      const sync = clusterSync({ ...spec, state: 'Committed' }, status);
      const decision = decide(sync, runningWorld(running));
      assert.equal(phaseAndReadiness(decision.status), 'ChangeApplication: False Committing');
      const [sent] = decision.commands;
      assert.deepEqual(commandsOf(decision), ['commit']);
      assert.deepEqual(sent?.command.headers, { [optionsDigestHeader]: present });
      const stopped = decide(
        clusterSync(spec, { ...status, ...decision.status }),
        runningWorld(undefined),
      );
      assert.doesNotMatch(phaseAndReadiness(stopped.status), /DifferentSync/);
    });
  }

  it('changes nothing for a sync that began as the spec says', () => {
    const own = changed(changes, { optionsDigest: wantedDigest(clusterSync(back)) });
    const { status } = decide(clusterSync(back, { ...begun, startOver: done }), runningWorld(own));
    assert.equal(phaseAndReadiness(status), 'ChangeApplication: True InSync');
    assert.deepEqual(status.startOver, refused);
  });

  it('leaves a sync of other options what it is', () => {
    const other = changed(changes, { optionsDigest: 'of another sync' });
    const sync = clusterSync(back, { ...begun, startOver: done });
    const { status, commands } = decide(sync, runningWorld(other));
    assert.equal(phaseAndReadiness(status), 'Stalled: False DifferentSync');
    assert.deepEqual(commands, []);
  });

  it('is none before the sync has begun, nor with a token that is done, nor with a new one', () => {
    const { source } = begun;
    const ofOne = { ...begun, startOver: { token: 'one', state: 'Done' } } as const;
    for (const status of [{ source, startOver: done }, ofOne]) {
      const decision = decide(clusterSync(back, status), runningWorld(running));
      assert.equal(phaseAndReadiness(decision.status), 'Stalled: False DifferentSync');
    }
    const three = { ...back, startOver: { ...startOver, token: 'three' } };
    const again = decide(clusterSync(three, { ...begun, startOver: done }), runningWorld(running));
    assert.deepEqual(commandsOf(again), ['reset']);
  });
});
