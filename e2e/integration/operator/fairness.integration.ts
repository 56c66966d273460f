import assert from 'node:assert/strict';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import { until } from '../../ground/until.ts';
import { smallestSpec } from './custom-resources.ts';
import { OperatorGround, RunningOperator } from './operator-ground.ts';

const { signal } = new AbortController();
const broken = 100;
/** Those that are worked on at the same time may be written in any order. */
const among = 16;

describe('an operator that begins', () => {
  let ground: OperatorGround;

  before(async () => {
    ground = await OperatorGround.start();
  });

  after(async () => {
    await ground[Symbol.asyncDispose]();
  });

  it('reconciles the resource of another namespace among the first, though 100 broken ones came before it', async () => {
    const { namespace: first } = await ground.newPlace();
    const { namespace: second } = await ground.newPlace();
    const source = { ...smallestSpec.source, uriSecretRef: { name: 'nowhere' } };
    for (let index = 0; index < broken; index++)
      await ground.createSync(first, { source }, `broken-${index}`);
    await ground.createSync(second, { source });
    await using operators = new AsyncDisposableStack();
    operators.use(await RunningOperator.start(ground.kubeconfig));
    await until('all have a status', async () => {
      const { items } = await ground.client.list(clusterSyncs, { signal });
      return items.every(({ status }) => status !== undefined);
    });
    const written = (await ground.server.auditedWrites())
      .filter(({ resource, subresource }) => `${resource}/${subresource}` === 'clustersyncs/status')
      .map(({ namespace }) => namespace);
    assert.equal(written.length, broken + 1);
    const place = written.indexOf(second) + 1;
    assert.ok(place <= among, `written as number ${place}`);
  });
});
