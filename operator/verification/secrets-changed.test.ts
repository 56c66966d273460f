import assert from 'node:assert/strict';
import type { StatefulSet } from '../kube/builtin-resources.ts';
import { secretsChangedAnnotation } from '../operand/operand-secrets.ts';
import { decide } from './decide.ts';
import {
  checking,
  committed,
  running,
  statefulSet,
  verification,
  world,
} from './testing/worlds.ts';

describe('a SyncVerification whose Secrets change', () => {
  it('records when its pods are given changed Secrets', () => {
    const made = decide(verification(), world()).objects?.statefulSet;
    assert.equal(made?.metadata.annotations?.[secretsChangedAnnotation], undefined);
    const set = { ...statefulSet, ...made, metadata: statefulSet.metadata } as StatefulSet;
    const destination = { kind: 'found', value: 'Y2hhbmdlZA==' } as const;
    for (const [parts, expected] of [
      [{ destination }, '2026-01-01T12:00:00Z'],
      [{}, undefined],
    ] as const) {
      const { objects } = decide(verification(), running(checking, { statefulSet: set, ...parts }));
      assert.ok(objects);
      const { annotations } = objects.statefulSet.metadata;
      assert.equal(annotations?.[secretsChangedAnnotation], expected);
    }
  });

  it('says so once, and nothing again in another run', () => {
    const secretsChangedAt = '2026-01-01T11:00:00Z';
    const annotations = { [secretsChangedAnnotation]: secretsChangedAt };
    const set = { ...statefulSet, metadata: { ...statefulSet.metadata, annotations } };
    const changed = decide(verification(), running(checking, { statefulSet: set }));
    assert.equal(changed.status?.secretsChangedAt, secretsChangedAt);
    const reasons = changed.events.map(({ reason }) => reason);
    assert.deepEqual(reasons, ['Checking', 'SecretsChanged']);
    for (const existing of [set, undefined]) {
      const next = decide(
        verification(changed.status, { rerun: 'again' }, 2),
        world({ clusterSync: committed, statefulSet: existing }),
      );
      assert.equal(next.status?.secretsChangedAt, secretsChangedAt);
      assert.deepEqual(
        next.events.map(({ reason }) => reason),
        ['Rerun'],
      );
    }
  });
});
