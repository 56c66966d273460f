import assert from 'node:assert/strict';
import { decide } from './decide.ts';
import type { Decision } from './decision.ts';
import { answers, clusterSync, resetAndIdle, runningWorld } from './testing/worlds.ts';

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
