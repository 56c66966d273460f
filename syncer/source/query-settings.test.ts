import assert from 'node:assert/strict';
import { MongoServerError } from 'mongodb';
import { SyncError } from '../../service/errors.ts';
import { createLogger } from '../../service/logger.ts';
import { warnOfQuerySettings, type QuerySettingsContext } from './query-settings.ts';

/** What the user is told where counting ends like this. */
async function toldOf(count: () => number): Promise<{ warnings: string[]; log: string[] }> {
  const [warnings, log]: [string[], string[]] = [[], []];
  const context = {
    deployment: {} as QuerySettingsContext['deployment'],
    options: { source: 'cluster0', destination: 'cluster1' } as const,
    logger: createLogger('test', 'info', (line) => log.push(line)),
    warn: async (warning: string): Promise<void> => {
      warnings.push(warning);
      await Promise.resolve();
    },
    signal: AbortSignal.timeout(1_000),
  };
  await warnOfQuerySettings(context, async () => await Promise.resolve(count()));
  return { warnings, log };
}

function refuses(code: number): () => never {
  return () => {
    throw new MongoServerError({ message: `error ${code}`, code });
  };
}

describe('warnOfQuerySettings', () => {
  it('says how many there are, where they must be set, and what lists them', async () => {
    assert.deepEqual(await toldOf(() => 2), {
      warnings: [
        'cluster0 has query settings (2), which are not copied: set them on cluster1 as well ($querySettings lists them)',
      ],
      log: [],
    });
  });

  it('says nothing if there are none', async () => {
    assert.deepEqual(await toldOf(() => 0), { warnings: [], log: [] });
  });

  it('logs that the user may not list them', async () => {
    const { warnings, log } = await toldOf(refuses(13));
    assert.deepEqual(warnings, []);
    assert.equal(log.length, 1);
    assert.match(log.join(), /query settings of the source were not read/);
  });

  it('is retried after what passes', async () => {
    const unreachable = new SyncError('ClusterUnreachable', 'no server');
    await assert.rejects(
      toldOf(() => {
        throw unreachable;
      }),
      unreachable,
    );
    await assert.rejects(toldOf(refuses(91)), { code: 91 });
  });
});
