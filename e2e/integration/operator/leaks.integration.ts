import assert from 'node:assert/strict';
import { collectGarbage, liveThrough } from '../../../bench/soak/life.ts';
import { sampleOf, type Sample } from '../../../bench/soak/samples.ts';
import { sleep } from '../../../service/sleep.ts';
import { OperatorProcess } from '../../ground/operator-process.ts';
import { SyncTools } from '../../ground/sync-tool/sync-tools.ts';
import { until } from '../../ground/until.ts';
import { OperatorGround, type Place } from './operator-ground.ts';

const placeCount = 8;
/** After the one in which connections are made that stay. */
const rounds = 3;
/** Free connections to the API server that are kept for the next request: there may be any number up to this. */
const keptConnections = 8;

describe('an operator over many lives of ClusterSyncs', () => {
  // Memory is for hours: make soak.
  it('holds no more files, connections and watches than before', async () => {
    await using ground = await OperatorGround.start();
    const places: Place[] = [];
    while (places.length < placeCount) places.push(await ground.newPlace());
    await using tools = await SyncTools.start({
      dialect: 'contract',
      addresses: places.map(({ address }) => address),
      port: 27182,
      copyMs: 200,
      turnMs: 100,
    });
    const kubeconfig = ground.server.config().exportConfig();
    await using operator = await OperatorProcess.start({ kubeconfig });
    await operator.untilReady();
    const round = async (): Promise<void> => {
      await Promise.all(
        places.map(async (place) => {
          await liveThrough(ground, tools, place);
        }),
      );
    };
    const stop = new AbortController();
    const collecting = (async () => {
      while (!stop.signal.aborted) {
        await collectGarbage(ground);
        await sleep(500, stop.signal).catch(() => undefined);
      }
    })();
    try {
      await round();
      const before = await sampleOf(operator, ground.client);
      for (let done = 0; done < rounds; done += 1) await round();
      // A leak of one for each life would be more than what varies by itself.
      assert.ok(rounds * placeCount > 2 * keptConnections);
      let after: Sample | undefined;
      await until('what was opened is closed', async () => {
        after = await sampleOf(operator, ground.client);
        return (
          after.openFiles <= before.openFiles + keptConnections && after.watches <= before.watches
        );
      }).catch((error: unknown) => {
        throw new Error(`${JSON.stringify(after)}, and before ${JSON.stringify(before)}`, {
          cause: error,
        });
      });
    } finally {
      stop.abort();
      await collecting;
    }
  });
});
