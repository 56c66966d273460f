import { createLogger } from '../service/logger.ts';
import { compileOptions } from '../service/options.ts';
import { Syncer } from './lifecycle/syncer.ts';
import { startSyncer } from './main.ts';
import { syncerOptionTable } from './options/syncer-options.ts';

describe('a syncer that is told to stop before it has begun', () => {
  // Nothing answers at these addresses, and nothing should connect to them.
  const flags = {
    cluster0: 'mongodb://127.0.0.1:1',
    cluster1: 'mongodb://127.0.0.1:2',
    host: '127.0.0.1',
    port: '0',
  };
  const options = compileOptions(syncerOptionTable, { flags, env: {} });
  const logger = createLogger('syncer', 'fatal');

  it('ends', async () => {
    await new Syncer(options, logger).run(AbortSignal.abort(new Error('stopped by SIGTERM')));
  });

  it('ends, also where it is told while its server begins to listen', async () => {
    const stop = new AbortController();
    const ended = startSyncer(options, logger, stop.signal);
    stop.abort(new Error('stopped by SIGTERM'));
    await ended;
  });
});
