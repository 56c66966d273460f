import { clusterTimeout } from '../ground/default-deadline.ts';
import type { SyncNamespace } from '../ground/kubernetes/sync-namespace.ts';

/** The collection that the application writes to. */
export const written = { database: 'web', collection: 'visits' } as const;

/** Writes about fifty documents a second, and continues for a second after SIGTERM, like an application that empties its queue. */
const program = `
  const { readFileSync } = require('node:fs');
  const { MongoClient } = require('mongodb');
  let endMs = Infinity;
  process.on('SIGTERM', () => { endMs = Date.now() + 1000; });
  (async () => {
    const client = new MongoClient(readFileSync('/uri/uri', 'utf8'));
    const visits = client.db('${written.database}').collection('${written.collection}');
    while (Date.now() < endMs) {
      await visits.insertOne({ at: new Date() }, { writeConcern: { w: 1 } });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    process.exit(0);
  })();`;

/**
 * Runs an application, as a Deployment with this many pods; resolves when they run.
 * @param image - with Node.js and the driver.
 * @param uri - what it writes to.
 */
export async function runApplication(
  namespace: SyncNamespace,
  {
    name,
    image,
    uri,
    replicas,
  }: {
    readonly name: string;
    readonly image: string;
    readonly uri: string;
    readonly replicas: number;
  },
): Promise<void> {
  await namespace.putUris({ [name]: uri });
  const labels = { app: name };
  await namespace.apply({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          automountServiceAccountToken: false,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
          containers: [
            {
              name: 'web',
              image,
              imagePullPolicy: 'IfNotPresent',
              command: ['node', '--eval', program],
              securityContext: {
                allowPrivilegeEscalation: false,
                capabilities: { drop: ['ALL'] },
              },
              volumeMounts: [{ name: 'uri', mountPath: '/uri', readOnly: true }],
            },
          ],
          volumes: [{ name: 'uri', secret: { secretName: name } }],
        },
      },
    },
  });
  await namespace.kubectl([
    'rollout',
    'status',
    `deployment/${name}`,
    `--timeout=${clusterTimeout}`,
  ]);
}
