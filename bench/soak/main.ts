// Runs the operator for hours with resources, Secrets and pods that are constantly created and deleted, and checks whether its
// use of anything keeps growing. Exits with 1 if so.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { OperatorProcess } from '../../e2e/ground/operator-process.ts';
import { SyncTools } from '../../e2e/ground/sync-tool/sync-tools.ts';
import { OperatorGround, type Place } from '../../e2e/integration/operator/operator-ground.ts';
import { collectGarbage, liveThrough } from './life.ts';
import { growthOf, sampleOf, type Sample } from './samples.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '240' },
    /** How many ClusterSyncs exist at a time. */
    syncs: { type: 'string', default: '20' },
    /** How long each of them exists, at least. */
    pace: { type: 'string', default: '0' },
    /** Additional Node.js options for the operator. */
    nodeOption: { type: 'string', multiple: true, default: [] },
  },
});
const totalMs = Number(values.minutes) * 60_000;
const paceMs = Number(values.pace) * 1_000;
const sampleCount = 40;
const nodeOptions = [
  // As in the chart.
  '--max-semi-space-size=4',
  '--max-old-space-size=256',
  // In a short run, garbage that is not collected yet would hide what is never collected.
  '--expose-gc',
  '--import=data:text/javascript,setInterval(gc,1000).unref()',
  ...values.nodeOption,
];

await using ground = await OperatorGround.start();
const places: Place[] = [];
while (places.length < Number(values.syncs)) places.push(await ground.newPlace());
const addresses = places.map(({ address }) => address);
const times = { copyMs: 1_000, turnMs: 200 };
await using tools = await SyncTools.start({
  dialect: 'contract',
  addresses,
  port: 27182,
  ...times,
});
const kubeconfig = ground.server.config().exportConfig();
// If the machine were so busy that the Lease is not renewed for ten seconds, the operator would end, and nothing here restarts it.
const options = { leaseDurationSeconds: 300 };
await using operator = await OperatorProcess.start({ kubeconfig, nodeOptions, options });
await operator.untilReady();

const endMs = performance.now() + totalMs;
let lives = 0;
const living = places.map(async (place) => {
  while (performance.now() < endMs) {
    const nextMs = performance.now() + paceMs;
    try {
      await liveThrough(ground, tools, place);
    } catch (error) {
      console.log(await saidOf(place));
      throw error;
    }
    lives += 1;
    await sleep(Math.max(0, nextMs - performance.now()));
  }
});
const samples: Sample[] = [];
const sampling = (async () => {
  while (performance.now() < endMs) {
    await sleep(totalMs / sampleCount);
    const sample = await sampleOf(operator, ground.client);
    samples.push(sample);
    console.log(JSON.stringify({ lives, ...sample }));
  }
})();
const over = new AbortController();
const collecting = (async () => {
  // For the last of them, too: each waits until nothing is left of its predecessor.
  while (!over.signal.aborted) {
    await collectGarbage(ground);
    await sleep(500);
  }
})();
try {
  await Promise.all([...living, sampling]);
} finally {
  over.abort();
  await collecting;
}
console.log(`${lives} ClusterSyncs have come and gone`);
const grown = growthOf(samples);
for (const line of grown) console.log(line);
const failures = (await operator.log()).split('\n').filter((line) => line.includes('failed'));
for (const line of failures.slice(0, 10)) console.log(line);
process.exitCode = grown.length > 0 ? 1 : 0;

/** The last lines that the operator has logged about the ClusterSyncs of a place, and about its own end. */
async function saidOf({ namespace }: Place): Promise<string> {
  const lines = (await operator.log()).split('\n');
  return lines
    .filter((line) => line.includes(namespace) || line.includes('"level":"fatal"'))
    .slice(-20)
    .join('\n');
}
