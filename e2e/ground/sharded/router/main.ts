// Routers in a process of their own: `main.ts <file> --port <first port>`; RouterFile says what is in the file.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { ObjectId } from 'mongodb';
import { defaultDeadlineMs } from '../../default-deadline.ts';
import { addressInUseExitCode } from '../../mongod/server-process.ts';
import { ClusterView } from './cluster-view.ts';
import { RetriedWrites } from './retried-writes.ts';
import { listeningText, type RouterFile } from './router-file.ts';
import { createRouter } from './router.ts';
import type { ClientSession } from './router-state.ts';
import { WriteGate } from './write-gate.ts';

const startDeadline = AbortSignal.timeout(defaultDeadlineMs);
const [path = '', , firstPort] = process.argv.slice(2);
const {
  config,
  keyFile,
  hosts,
  inner: inners,
} = JSON.parse(await readFile(path, 'utf8')) as RouterFile;
const key = (await readFile(keyFile, 'utf8')).replaceAll(/\s/g, '');
const cluster = new ClusterView({ config, key });
const gate = new WriteGate(await isBlocked());
const retriedWrites = new RetriedWrites();

process.on('uncaughtException', (error) => {
  console.error(error);
  process.exit('code' in error && error.code === 'EADDRINUSE' ? addressInUseExitCode : 1);
});

for (const [index, address] of inners.entries()) {
  const server = {
    ...{ cluster, gate, inner: address, inners, retriedWrites },
    shardCursors: new Map(),
    streams: new Map(),
    transactions: new Map(),
    clients: new Set<ClientSession>(),
    processId: new ObjectId(),
  };
  for (const host of hosts) {
    await once(createRouter(server).listen(Number(firstPort) + index, host), 'listening');
  }
}
console.log(listeningText);

/** The mode is the same on all shards. */
async function isBlocked(): Promise<boolean> {
  const [shard] = (await cluster.shards(startDeadline)).keys();
  if (shard === undefined) return false;
  const status = await cluster.run({ shard }, { serverStatus: 1, $db: 'admin' }, startDeadline);
  return (status['repl'] as { userWriteBlockMode?: number }).userWriteBlockMode === 2;
}
