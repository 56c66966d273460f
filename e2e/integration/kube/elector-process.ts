/** A process that leads, says so, and exits with 1 when it loses leadership. */
import { once } from 'node:events';
import { Registry } from 'prom-client';
import { KubeClient } from '../../../operator/kube/client.ts';
import { loadKubeConfig } from '../../../operator/kube/transport.ts';
import { LeaderElector, LeadershipLostError } from '../../../operator/kube/leader-election.ts';
import { KubeMetrics } from '../../../operator/kube/metrics.ts';
import { createLogger } from '../../../service/logger.ts';

const [path, times = '{}'] = process.argv.slice(2);
const metrics = new KubeMetrics(new Registry());
const elector = new LeaderElector({
  ...(JSON.parse(times) as object),
  client: new KubeClient(loadKubeConfig({ path, env: {} }), metrics),
  namespace: 'default',
  name: 'frozen',
  identity: 'process',
  logger: createLogger('elector', 'fatal'),
  metrics,
});
await elector
  .run(
    new AbortController().signal,
    async (leading) => {
      console.log('leading');
      if (!leading.aborted) await once(leading, 'abort');
    },
    () => {
      console.log('lost');
    },
  )
  .catch((error: unknown) => {
    process.exit(error instanceof LeadershipLostError ? 1 : 2);
  });
