import { collectDefaultMetrics } from 'prom-client';
import { apiTokenHashOf } from '../service/api-token.ts';
import { startHttpServer } from '../service/http-server.ts';
import type { Logger } from '../service/logger.ts';
import { certificateFiles } from '../service/served-certificate.ts';
import { syncerRoutes } from './api/routes.ts';
import { optionsOfInstance, type SyncerOptions } from './options/syncer-options.ts';
import { Syncer } from './lifecycle/syncer.ts';

/** Runs the sync tool until the signal is aborted. */
export async function startSyncer(
  given: SyncerOptions,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const options = optionsOfInstance(given);
  const syncer = new Syncer(options, logger);
  const { id, copyWorkers, partitionMebibytes, lanes } = options;
  logger.info({ id, copyWorkers, partitionMebibytes, lanes }, 'options');
  collectDefaultMetrics({ register: syncer.monitor.registry });
  await using running = new AsyncDisposableStack();
  running.use(
    await startHttpServer({
      host: options.host,
      port: options.port,
      routes: syncerRoutes(syncer),
      logger,
      metrics: syncer.monitor.registry,
      isReady: () => syncer.isReady,
      apiTokenHash: apiTokenHashOf(options),
      certificate: certificateFiles(options),
    }),
  );
  await syncer.run(signal);
}
