import { collectDefaultMetrics } from 'prom-client';
import { startHttpServer } from '../service/http-server.ts';
import { apiServerOf } from '../service/listening.ts';
import type { Logger } from '../service/logger.ts';
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
  const { id, copyWorkers, partitionMebibytes, applyWorkers } = options;
  logger.info({ id, copyWorkers, partitionMebibytes, applyWorkers }, 'options');
  collectDefaultMetrics({ register: syncer.monitor.registry });
  await using running = new AsyncDisposableStack();
  running.use(
    await startHttpServer({
      ...apiServerOf(options),
      routes: syncerRoutes(syncer),
      logger,
      metrics: syncer.monitor.registry,
      isReady: () => syncer.isReady,
    }),
  );
  await syncer.run(signal);
}
