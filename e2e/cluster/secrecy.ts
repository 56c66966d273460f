import assert from 'node:assert/strict';
import type { Cluster } from '../ground/kubernetes/cluster.ts';

/** Everything that Kubernetes shows of a namespace to somebody who may not read Secrets. */
const kinds = [
  'clustersyncs,syncverifications,statefulsets,deployments,pods,services,endpointslices',
  'networkpolicies,configmaps,leases,controllerrevisions,serviceaccounts,events,events.events.k8s.io',
].join(',');

/** Prints the arguments and the environment of all processes of a container, and whether there is a token of the API. */
const look = `
  const { existsSync, readdirSync, readFileSync } = require('node:fs');
  for (const pid of readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))) {
    for (const file of ['cmdline', 'environ']) {
      try { console.log(readFileSync('/proc/' + pid + '/' + file, 'utf8').replaceAll('\\0', ' ')); } catch {}
    }
  }
  console.log('token:' + existsSync('/var/run/secrets/kubernetes.io'));`;

/** Fails if a password is visible anywhere in a namespace: in objects, events, logs, arguments or environments. */
export async function assertToldNowhere(
  cluster: Cluster,
  namespace: string,
  passwords: readonly string[],
): Promise<void> {
  const where = `--namespace=${namespace}`;
  const texts = [
    await cluster.dump(namespace),
    await cluster.kubectl(['get', kinds, where, '--output=yaml', '--show-managed-fields']),
  ];
  for (const pod of await runningPods(cluster, namespace)) {
    texts.push(await cluster.kubectl(['logs', pod, where, '--all-containers', '--tail=-1']));
    texts.push(await cluster.kubectl(['exec', pod, where, '--', 'node', '--eval', look]));
  }
  const everything = texts.join('\n');
  // The arguments of a process are among it.
  assert.match(everything, /clustersync\.js (operator|syncer) /);
  for (const password of passwords) {
    for (const form of [password, encodeURIComponent(password), btoa(password)]) {
      const at = everything.indexOf(form);
      const around = everything.slice(Math.max(0, at - 300), at);
      assert.equal(at, -1, `a password is told in ${namespace}, after: ${around}`);
    }
  }
}

/** Fails unless pods of a namespace run, and none of them has a token for the Kubernetes API. */
export async function assertNoTokens(cluster: Cluster, namespace: string): Promise<void> {
  const pods = await runningPods(cluster, namespace);
  assert.ok(pods.length > 0);
  for (const pod of pods) {
    const where = `--namespace=${namespace}`;
    const seen = await cluster.kubectl(['exec', pod, where, '--', 'node', '--eval', look]);
    assert.match(seen, /clustersync\.js (syncer|verifier) /);
    assert.match(seen, /^token:false$/m);
  }
}

async function runningPods(cluster: Cluster, namespace: string): Promise<string[]> {
  const selector = '--field-selector=status.phase=Running';
  const args = ['get', 'pods', selector, `--namespace=${namespace}`, '--output=name'];
  return (await cluster.kubectl(args)).split('\n').filter((name) => name !== '');
}
