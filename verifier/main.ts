import { once } from 'node:events';
import { hostname } from 'node:os';
import { createClusterClient, type ClusterClient } from '../mongo/cluster-client.ts';
import { connectionOf } from '../mongo/connection.ts';
import { readConnectionTls } from '../mongo/connection-tls.ts';
import { SyncError } from '../service/errors.ts';
import { startHttpServer } from '../service/http-server.ts';
import { apiServerOf } from '../service/listening.ts';
import type { Logger } from '../service/logger.ts';
import { TokenBucket } from '../service/token-bucket.ts';
import { verifierRoutes } from './api/routes.ts';
import { RangeComparer } from './compare/range-comparer.ts';
import { VerifierMonitor } from './monitor.ts';
import type { VerifierOptions } from './options.ts';
import { filterOf } from './passes/scope.ts';
import { metadataDb } from './store/metadata-store.ts';
import { storesOf } from './store/stores.ts';
import { identityOf, Verifier } from './verifier.ts';
import { Wakeup } from './wakeup.ts';

const appName = 'clustersync verifier';

/** A verifier whose API listens. Disposing of it ends all its work. */
export interface RunningVerifier extends AsyncDisposable {
  readonly port: number;
}

/** Runs the verifier until the signal is aborted. @throws SyncError InvalidOption, before anything is started. */
export async function startVerifier(
  options: VerifierOptions,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const verifier = await openVerifier(options, logger);
  try {
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await verifier[Symbol.asyncDispose]();
  }
}

/** Starts the verifier; resolves when its API listens. @throws SyncError InvalidOption */
export async function openVerifier(
  options: VerifierOptions,
  logger: Logger,
): Promise<RunningVerifier> {
  if (!Number.isInteger(options.workers) || options.workers < 1) {
    throw new SyncError('InvalidOption', '--workers: expected a whole number from 1');
  }
  filterOf(options);
  const { workers, partitionMebibytes, comparison, maxBytesPerSecond, readPreference } = options;
  const work = { workers, partitionMebibytes, comparison, maxBytesPerSecond, readPreference };
  logger.info(work, 'options');
  await using resources = new AsyncDisposableStack();
  const refusesFiles = options.connectionFiles === 'refuse';
  const cluster = (side: 'src' | 'dest' | 'meta', given: string): ClusterClient => {
    const option = `${side}URI`;
    const connection = connectionOf(side, options, { option, uri: given });
    return resources.use(createClusterClient({ ...connection, option, appName, refusesFiles }));
  };
  const source = cluster('src', options.srcURI);
  const destination = cluster('dest', options.destURI);
  const { metaUser, metaPassword } = options;
  const metaLogin = metaUser ?? metaPassword ?? readConnectionTls('meta', options);
  if (options.metaURI === undefined && metaLogin !== undefined) {
    const problem = 'are given without --metaURI: the store is on the destination';
    throw new SyncError('InvalidOption', `user or certificates of the metadata store ${problem}`);
  }
  const metadata = options.metaURI === undefined ? destination : cluster('meta', options.metaURI);
  const monitor = new VerifierMonitor();
  const stop = new AbortController();
  const { signal } = stop;
  const identity = identityOf(options.verification, options.id ?? hostname(), options.attempt);
  const retries = { signal, logger, monitor };
  const verifier = new Verifier({
    ...retries,
    source,
    destination,
    metadata,
    clean: options.clean,
    scope: {
      verifyAll: options.verifyAll,
      includeNamespaces: options.includeNamespaces,
      excludeNamespaces: options.excludeNamespaces,
    },
    work: {
      workers: options.workers,
      rangeBytes: options.partitionMebibytes * 1024 * 1024,
      readPreference: options.readPreference,
      rateLimit: new TokenBucket(0, options.maxBytesPerSecond),
      ranges: new RangeComparer(options.comparison, logger),
      reportValues: options.reportValues,
    },
    identity,
    stores: storesOf({ ...retries, db: metadataDb(metadata) }, identity),
    wakeup: new Wakeup(),
  });
  resources.defer(async () => {
    stop.abort(new Error('the verifier stops'));
    await verifier.ended();
    await verifier.release();
  });
  const server = resources.use(
    await startHttpServer({
      ...apiServerOf(options),
      routes: verifierRoutes(verifier),
      logger,
      metrics: monitor.registry,
      isReady: () => verifier.isReady,
    }),
  );
  const held = resources.move();
  return {
    port: server.port,
    [Symbol.asyncDispose]: async () => {
      await held.disposeAsync();
    },
  };
}
