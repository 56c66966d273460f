import assert from 'node:assert/strict';
import type { OperandOptions } from '../api/clustersync.ts';
import type { SyncVerificationSpec } from '../api/sync-verification.ts';
import { decide, type Decision, type World } from './decide.ts';
import { phaseAndConditions, statefulSet, verification, world } from './testing/worlds.ts';

function decided(options: Partial<OperandOptions>, seen: World = world()): Decision {
  const checked = verification();
  const verifier = { ...checked.spec.verifier, ...options };
  return decide({ ...checked, spec: { ...checked.spec, verifier } }, seen);
}

describe('the pods of a SyncVerification', () => {
  it('run no image that nobody has allowed', () => {
    const decision = decided({ image: 'evil.dev/verifier:1' });
    assert.match(phaseAndConditions(decision), /^Pending False ImageNotAllowed Stalled/);
    assert.equal(decision.objects, undefined);
    assert.ok(decided({}).objects);
  });

  it('have no field of a template that nobody has allowed, and stay as they are then', () => {
    const podTemplate = { spec: { hostAliases: [] } };
    const decision = decided({ podTemplate });
    assert.match(phaseAndConditions(decision), /^Pending False PodFieldNotAllowed Stalled/);
    assert.equal(decision.objects, undefined);
    assert.equal(decided({ podTemplate }, world({ statefulSet })).objects, undefined);
    assert.ok(decided({}, world({ statefulSet })).objects);
  });

  it('read from the members that the spec names, and share its limit', () => {
    const argsOf = (spec: Partial<SyncVerificationSpec>): readonly string[] => {
      const checked = verification();
      const { objects } = decide({ ...checked, spec: { ...checked.spec, ...spec } }, world());
      return objects?.statefulSet.spec?.template?.spec?.containers?.[0]?.args ?? [];
    };
    const isWork = (arg: string): boolean => /^--(readPreference|maxBytesPerSecond)=/.test(arg);
    assert.deepEqual(argsOf({}).filter(isWork), []);
    const given = {
      readPreference: 'secondaryPreferred',
      maxBytesPerSecond: 10_000_000,
      parallelism: 3,
    } as const;
    const expected = ['--readPreference=secondaryPreferred', '--maxBytesPerSecond=3333333'];
    assert.deepEqual(argsOf(given).filter(isWork), expected);
  });

  it('have what a template adds to the container of the program, and nothing else of it is changed', () => {
    const of = (more: object): Decision =>
      decided({ podTemplate: { spec: { containers: [{ name: 'verifier', ...more }] } } });
    const refused = of({ image: 'a' });
    assert.match(phaseAndConditions(refused), /^Pending False InvalidPodTemplate Stalled/);
    const { objects } = of({ env: [{ name: 'TZ', value: 'UTC' }] });
    const containers = objects?.statefulSet.spec?.template?.spec?.containers ?? [];
    assert.deepEqual(
      containers.map(({ name, env }) => [name, env?.at(-1)?.name]),
      [['verifier', 'TZ']],
    );
  });
});
