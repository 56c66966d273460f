import { collectDefaultMetrics } from 'prom-client';
import {
  genericErrorBody,
  progressErrorBody,
  startHttpServer,
  type Route,
} from '../service/http-server.ts';
import type { Logger } from '../service/logger.ts';
import { certificateFiles } from '../service/served-certificate.ts';
import { optionsOfInstance, type SyncerOptions } from './options.ts';
import { Syncer } from './syncer.ts';

/** Collections that /api/v1/collections shows: it is for people. */
const maxCollectionsShown = 100;

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
      routes: routesOf(syncer),
      logger,
      metrics: syncer.monitor.registry,
      isReady: () => syncer.isReady,
      apiToken: options.apiToken,
      certificate: certificateFiles(options),
    }),
  );
  await syncer.run(signal);
}

/** The endpoints of the contract, part 4, and those of pause, resume and reverse, of the same shape. */
function routesOf(syncer: Syncer): Route[] {
  const commands = ['start', 'pause', 'resume', 'commit', 'reverse'] as const;
  return [
    ...commands.map((command): Route => ({
      method: 'POST',
      path: `/api/v1/${command}`,
      errorBody: genericErrorBody,
      handle: async (body) => {
        await syncer[command](body);
        return { success: true };
      },
    })),
    {
      method: 'POST',
      path: '/api/v1/preflight',
      errorBody: genericErrorBody,
      handle: async (body) => {
        await syncer.preflight(body);
        return { success: true };
      },
    },
    {
      method: 'GET',
      path: '/api/v1/collections',
      errorBody: genericErrorBody,
      handle: () => syncer.monitor.copyTally.page(maxCollectionsShown),
    },
    {
      method: 'GET',
      path: '/api/v1/progress',
      errorBody: progressErrorBody,
      handle: () => syncer.progress(),
    },
  ];
}
