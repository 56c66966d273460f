import assert from 'node:assert/strict';
import {
  operatorName,
  operatorNamespace,
  useOperator,
} from '../ground/kubernetes/operator-release.ts';

describe('the installed chart', () => {
  it('passes helm test, and leaves nothing of it', async () => {
    const cluster = await useOperator();
    const where = `--namespace=${operatorNamespace}`;
    const printed = await cluster.helm(['test', operatorName, where, '--timeout=90s'], {
      deadlineMs: 100_000,
    });
    assert.match(printed, /TEST SUITE: +clustersync-test[^]*Phase: +Succeeded/);
    const pods = await cluster.kubectl(['get', 'pods', where, '--output=name']);
    assert.doesNotMatch(pods, /clustersync-test/);
  });
});
