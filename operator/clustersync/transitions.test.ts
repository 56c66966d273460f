import assert from 'node:assert/strict';
import type { ClusterSyncSpec } from '../api/clustersync.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import { decide } from './decide.ts';
import {
  answers,
  clusterSync,
  phaseAndReadiness,
  reversed,
  runningWorld,
} from './testing/worlds.ts';

const { idle, copy, changes, paused, committing, committed } = answers;

/** Every state that an instance can be in, in either direction. */
const scenes = {
  idle,
  copy,
  changes,
  paused,
  committing,
  committed,
  'back: changes': reversed(changes),
  'back: paused': reversed(paused),
  'back: committing': reversed(committing),
  'back: committed': reversed(committed),
} as const;
type Scene = keyof typeof scenes;

const wishes = [
  'Running',
  'Paused',
  'Committed',
  'Reverse Running',
  'Reverse Paused',
  'Reverse Committed',
] as const;

/** What is sent in each state for each request; '-' for nothing. */
const commands: Readonly<Record<Scene, readonly string[]>> = {
  idle: ['start', '-', 'start', '-', '-', '-'],
  copy: ['-', 'pause', '-', '-', 'pause', '-'],
  changes: ['-', 'pause', 'commit', '-', 'pause', '-'],
  paused: ['resume', '-', 'resume', 'resume', '-', 'resume'],
  committing: ['-', '-', '-', '-', '-', '-'],
  committed: ['-', '-', '-', 'reverse', '-', 'reverse'],
  'back: changes': ['-', 'pause', '-', '-', 'pause', 'commit'],
  'back: paused': ['resume', '-', 'resume', 'resume', '-', 'resume'],
  'back: committing': ['-', '-', '-', '-', '-', '-'],
  'back: committed': ['reverse', '-', 'reverse', '-', '-', '-'],
};

function specOf(wish: string): Partial<ClusterSyncSpec> {
  const [state = '', direction] = wish.split(' ').reverse();
  return {
    reversible: true,
    state: state as ClusterSyncSpec['state'],
    direction: direction === undefined ? 'Forward' : 'Reverse',
  };
}

describe('every state of a sync, with everything that can be asked for', () => {
  for (const [scene, expected] of Object.entries(commands) as [Scene, readonly string[]][]) {
    for (const [index, wish] of wishes.entries()) {
      const world = runningWorld(scenes[scene]);
      const sync = clusterSync(specOf(wish));
      it(`${scene}, ${wish}: ${expected[index]}`, () => {
        const { commands: sent } = decide(sync, world);
        assert.equal(sent.map(({ command }) => command.name).join() || '-', expected[index]);
      });

      it(`${scene}, ${wish}: nothing while it is suspended, and the truth about it`, () => {
        const suspended = { ...sync, spec: { ...sync.spec, suspend: true } };
        const { commands: sent, objects, commit, status } = decide(suspended, world);
        assert.deepEqual([sent, objects, commit.kind], [[], undefined, 'none']);
        assert.deepEqual(status.instances, decide(sync, world).status.instances);
      });

      it(`${scene}, ${wish}: nothing while it is deleted`, () => {
        const metadata = { ...sync.metadata, deletionTimestamp: new Date(nowMs).toISOString() };
        const { commands: sent, objects } = decide({ ...sync, metadata }, world);
        assert.deepEqual([sent, objects], [[], undefined]);
      });

      it(`${scene}, ${wish}: comes to rest only as what is asked for`, () => {
        const { status } = decide(sync, world);
        const isReady = phaseAndReadiness(status).includes(' True ');
        const isCommitting = scene.endsWith('committing');
        const isWay = scene.startsWith('back: ') === wish.startsWith('Reverse');
        const wanted = wish.replace('Reverse ', '');
        const rests = {
          Running: isWay && (scene.endsWith('changes') || scene.endsWith('committed')),
          // With nothing to be reversed, somebody has to act.
          Paused:
            scene === 'idle'
              ? wish === 'Paused'
              : ['paused', 'committed'].some((each) => scene.endsWith(each)),
          Committed: isWay && scene.endsWith('committed'),
        } as const;
        assert.equal(isReady, !isCommitting && rests[wanted as keyof typeof rests]);
      });
    }
  }
});
