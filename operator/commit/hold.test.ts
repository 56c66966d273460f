import assert from 'node:assert/strict';
import type { Lease } from '../kube/builtin-resources.ts';
import { holdName, leaseOf, readHold } from './hold.ts';
import { ending, hold, holder, sent } from './testing/two-workloads.ts';

const annotation = 'clustersync.dev/hold';

/** The Lease of a hold, as the API server returns it. @param changed - annotations that somebody has changed since. */
function leaseWith(changed: Readonly<Record<string, string>> = {}, stored = sent): Lease {
  const { spec, annotations } = leaseOf(stored);
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: holdName(holder), annotations: { ...annotations, ...changed } },
    ...(spec && { spec }),
  };
}

describe('the hold in a Lease', () => {
  it('is the one that was stored', () => {
    for (const each of [hold, sent, ending]) assert.deepEqual(readHold(leaseWith({}, each)), each);
  });

  const { holder: _, ...stored } = sent;
  const [web] = stored.workloads;
  for (const [what, text] of [
    ['no annotation', ''],
    ['nothing', 'null'],
    ['no fields', '{}'],
    ['a number of replicas that is none', { ...stored, workloads: [{ ...web, replicas: '3' }] }],
    ['a part of a pod', { ...stored, workloads: [{ ...web, replicas: 0.5 }] }],
    ['a workload without a UID', { ...stored, workloads: [{ ...web, uid: undefined }] }],
    ['a workload of another kind', { ...stored, workloads: [{ ...web, kind: 'Job' }] }],
    ['no list of workloads', { ...stored, workloads: {} }],
    ['no time', { ...stored, sinceMs: 'now' }],
    ['another direction', { ...stored, direction: 'Sideways' }],
  ] as const)
    it(`is unknown with ${what}: it must not be taken for none`, () => {
      const changed = { [annotation]: typeof text === 'string' ? text : JSON.stringify(text) };
      assert.throws(() => readHold(leaseWith(changed)), Error);
    });
});
