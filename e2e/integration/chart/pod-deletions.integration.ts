import assert from 'node:assert/strict';
import { pods } from '../../../operator/kube/builtin-resources.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { isForbidden, KubeError } from '../../../operator/kube/kube-error.ts';
import { resourcePath, type KubeObject } from '../../../operator/kube/resource.ts';
import { until } from '../../ground/until.ts';
import { useApiServer } from '../kube/use-api-server.ts';
import { made } from './forbidden-pods.ts';
import { installRelease, type PolicyGround } from './policy-ground.ts';

const signal = new AbortController().signal;
const denied = /ValidatingAdmissionPolicy .* denied/;
const { labels } = made.statefulSet.spec?.template?.metadata ?? {};
const other = { ...labels, 'app.kubernetes.io/component': 'verifier' };
const [set, job] = [
  { apiVersion: 'apps/v1', kind: 'StatefulSet' },
  { apiVersion: 'batch/v1', kind: 'Job' },
].map((owner) => ({ ...owner, name: 'orders-syncer', uid: 'of-it', controller: true }));

/** What is known of a pod, and whether the operator may delete it. */
const scenes = {
  lost: [labels, [set], true, true],
  running: [labels, [set], false, false],
  'of-a-verifier': [other, [set], true, false],
  unlabelled: [{ app: 'shop' }, [set], true, false],
  'of-a-job': [labels, [job], true, false],
  'of-nobody': [labels, [], true, false],
} as const;

describe("the pods that the API server lets the operator's account delete", () => {
  let client: KubeClient;
  let operator: KubeClient;
  let putRelease: PolicyGround['putRelease'];

  useApiServer(async (server, itsClient) => {
    client = itsClient;
    const values = { replaceLostPods: { enabled: false } };
    ({ operator, putRelease } = await installRelease(server, client, values));
    for (const [name, [podLabels, ownerReferences, isToEnd]] of Object.entries(scenes)) {
      const metadata = { namespace: 'shop', name, labels: podLabels, ownerReferences };
      const spec = { nodeName: 'node-7', containers: [{ name: 'a', image: 'a' }] };
      await client.create<KubeObject>(pods, { metadata, spec } as never, { signal });
      const ref = { namespace: 'shop', name };
      if (isToEnd) await client.delete(pods, ref, { signal, gracePeriodSeconds: 600 });
    }
  });

  after(() => {
    operator[Symbol.dispose]();
  });

  /** Asks for a deletion, without its being done. @returns why it is refused. */
  async function ask(asker: KubeClient, name: string): Promise<KubeError | undefined> {
    const path = resourcePath(pods, { namespace: 'shop', name });
    // With a body, the API server ignores what the query says.
    const body = { kind: 'DeleteOptions', gracePeriodSeconds: 0, dryRun: ['All'] };
    try {
      await asker.raw({ method: 'DELETE', path, body, signal });
      return undefined;
    } catch (error) {
      if (error instanceof KubeError) return error;
      throw error;
    }
  }

  it('are none by default', async () => {
    for (const name of Object.keys(scenes)) {
      assert.ok(isForbidden(await ask(operator, name)), name);
      assert.equal(await ask(client, name), undefined, name);
    }
  });

  it('are those of syncers that are to end, with replaceLostPods', async () => {
    await putRelease({ replaceLostPods: { enabled: true } });
    await until('it has the right', async () => (await ask(operator, 'lost')) === undefined);
    // The API server hears of a policy a moment after it was made.
    await until('the policy holds', async () => (await ask(operator, 'running')) !== undefined);
    for (const [name, [, , , isTaken]] of Object.entries(scenes)) {
      const refusal = await ask(operator, name);
      if (isTaken) assert.equal(refusal, undefined, name);
      else assert.match(refusal?.message ?? '', denied, name);
      assert.equal(await ask(client, name), undefined, name);
    }
  });
});
