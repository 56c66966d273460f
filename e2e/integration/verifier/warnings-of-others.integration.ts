import assert from 'node:assert/strict';
import { TcpProxy } from '../../ground/tcp-proxy.ts';
import { until } from '../../ground/until.ts';
import { VerifierProcess } from '../../ground/verifier-process.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';

describe('verifier, the warnings of another process', () => {
  const pair = useReplicaSetPair();

  before(async () => {
    for (const db of [pair.source, pair.destination]) {
      const rows = Array.from({ length: 4_000 }, (_, _id) => ({ _id, text: 'x'.repeat(1_000) }));
      await db.collection<{ _id: number; text: string }>('many').insertMany(rows);
    }
  });

  it('are in the progress of each, by its id, for as long as it warns', async () => {
    const [source, destination] = pair.sets;
    const [member] = source?.members ?? [];
    assert.ok(source && destination && member);
    await using proxy = await TcpProxy.start(member.port);
    const destURI = destination.uri('syncer');
    const start = async (id: string, srcURI: string): Promise<VerifierProcess> =>
      await VerifierProcess.start({
        uris: { srcURI, destURI, metaURI: destURI },
        options: { partitionMebibytes: 0.1, maxBytesPerSecond: 60_000, workers: 2, id },
      });
    await using first = await start('verifier-0', source.uri('syncer'));
    await first.post('check');
    await until('it works', async () => (await first.progress()).documentsCompared > 0);
    const byProxy = source.directUri('syncer', member).replace(`:${member.port}`, `:${proxy.port}`);
    await using second = await start('verifier-1', byProxy);
    await until('both work', async () => {
      const { processes } = await first.progress();
      return processes.length === 2 && (await second.log()).includes('takes part');
    });
    assert.deepEqual((await first.progress()).warnings, []);
    proxy.refuse();
    const warned = /^verifier-1: .*: trying again for \d+ s: /;
    await until('the first tells what the second warns of', async () => {
      const { warnings } = await first.progress();
      return warnings.length > 0 && warnings.every((text) => warned.test(text));
    });
    const own = (await second.progress()).warnings;
    assert.ok(own.length > 0 && own.every((text) => !text.startsWith('verifier-')), String(own));
    proxy.heal();
    await until('it is over', async () => (await first.progress()).warnings.length === 0);
  });
});
