// A program of ipv6.integration.ts, which runs it where there is no other network than that of these addresses. Prints an Outcome.
import { pathToFileURL } from 'node:url';
import { MongoClient } from 'mongodb';
import {
  syncVerifications,
  type SyncVerification,
} from '../../../operator/api/sync-verification.ts';
import { type StatefulSet } from '../../../operator/kube/builtin-resources.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { allAddresses } from '../../../service/listening.ts';
import { startReplicaSet } from '../../ground/mongod/replica-set.ts';
import { until } from '../../ground/until.ts';
import { OperatorGround, readiness, RunningOperator } from './operator-ground.ts';
import { PodProcess } from './pod-process.ts';

/** What has come of it. */
export interface Outcome {
  readonly verdict: string | undefined;
  readonly documentsCompared: unknown;
  /** The servers of both sides, as the syncer sees them. */
  readonly directionMapping: Readonly<Record<string, string>>;
  /** Whose HTTP servers have answered at an address of IPv6. */
  readonly servedFor: readonly string[];
}

export const documentCount = 500;

const serverAddress = 'fd00:c1::1';
const podAddress = 'fd00:c1::2';
const { signal } = new AbortController();

async function migrate(): Promise<Outcome> {
  await using running = new AsyncDisposableStack();
  const startSet = async (name: 'source' | 'destination') => {
    const set = await startReplicaSet({
      ...{ members: 1, name, syncerRoles: name, args: ['--ipv6'] },
      ...{ bindIp: [serverAddress], advertisedHost: `[${serverAddress}]` },
    });
    running.defer(async () => {
      await set.stop();
    });
    return set;
  };
  const [source, destination] = await Promise.all([startSet('source'), startSet('destination')]);
  await using client = new MongoClient(source.uri('admin'));
  const rows = Array.from({ length: documentCount }, (_, _id) => ({ _id }));
  await client.db('shop').collection<{ _id: number }>('items').insertMany(rows);

  const ground = running.use(await OperatorGround.start(serverAddress));
  const operator = running.use(
    await RunningOperator.start(ground.kubeconfig, { host: allAddresses }),
  );
  const { namespace } = await ground.newPlace(source.uri('syncer'), destination.uri('syncer'));
  const runPod = async (name: string): Promise<StatefulSet> => {
    const set = await ground.untilMade(namespace, name);
    running.use(await PodProcess.start(ground.client, set, allAddresses));
    await ground.runPod(set, podAddress);
    return set;
  };
  await ground.createSync(namespace);
  const syncer = await runPod('orders-syncer');
  const synced = await ground.untilSync(namespace, 'it could commit', ({ canCommit }) => {
    return canCommit === true;
  });
  const verification = {
    metadata: { namespace, name: 'check' },
    spec: { clusterSyncRef: { name: 'orders' } },
  };
  await ground.client.create<KubeObject>(syncVerifications, verification, { signal });
  const verifier = await runPod('check-verifier');
  await ground.patchSync(namespace, { state: 'Committed' });
  await ground.untilSync(namespace, 'it is committed', (status) => {
    return readiness(status) === 'True Committed';
  });
  let ended: SyncVerification['status'];
  await until('the verification has ended', async () => {
    const found = await ground.get<KubeObject>(syncVerifications, namespace, 'check');
    ended = (found as SyncVerification | undefined)?.status;
    return ended?.verdict !== undefined;
  });
  const ports = {
    syncer: [podAddress, portOf(syncer)],
    verifier: [podAddress, portOf(verifier)],
    operator: [serverAddress, operator.port],
  } as const;
  const servedFor: string[] = [];
  for (const [program, [address, port]] of Object.entries(ports)) {
    const { ok } = await fetch(`http://[${address}]:${port}/healthz`, { signal });
    if (ok) servedFor.push(program);
  }
  const progress = synced.instances?.[0]?.progress;
  return {
    verdict: ended?.verdict,
    documentsCompared: ended?.verifier?.progress?.['documentsCompared'],
    directionMapping: progress?.['directionMapping'] as Outcome['directionMapping'],
    servedFor,
  };
}

function portOf(set: StatefulSet): number {
  const [container] = set.spec?.template.spec?.containers ?? [];
  return container?.ports?.[0]?.containerPort ?? 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  console.log(JSON.stringify(await migrate()));
