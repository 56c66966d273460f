// Measures how soon the operator reacts to the ClusterSyncs of some namespaces beside those of others that are broken or
// hostile, on a real API server, and writes bench/results/fairness.*.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { OperatorProcess } from '../../e2e/ground/operator-process.ts';
import { cpuSecondsOf, peakMebibytesOf } from '../process-usage.ts';
import { machineText, writeResults } from '../results.ts';
import { FairnessGround } from './ground.ts';
import { moveIn, neighbourhoods, type Neighbourhood } from './neighbours.ts';
import { QuietSyncs } from './quiet.ts';
import { tableOf, type FairnessFigures } from './report.ts';

const { values } = parseArgs({
  options: {
    /** How often each quiet ClusterSync is changed, beside each of the neighbours. */
    rounds: { type: 'string', default: '4' },
    /** How long the neighbours have been there, before. */
    settle: { type: 'string', default: '20' },
  },
});
/** As the chart has it. */
const nodeOptions = ['--max-semi-space-size=4', '--max-old-space-size=256'];

const figures: FairnessFigures[] = [];
for (const neighbourhood of Object.keys(neighbourhoods) as Neighbourhood[]) {
  const found = await measure(neighbourhood);
  figures.push(found);
  console.log(tableOf(figures));
}
const at = new Date().toISOString();
const machine = machineText();
const samples = figures[0]?.specMs.length ?? 0;
const intro = `# Reactions to ClusterSyncs of quiet namespaces\n\n${at}, 30 ClusterSyncs in three namespaces, ${samples} changes of each kind, ${machine}. API server, etcd, stand-ins, hostile pods and bench share the machine. A syncer is asked once a second: that is part of the time from its answer.\n\n`;
await writeResults('fairness', {
  md: `${intro}${tableOf(figures)}`,
  json: `${JSON.stringify({ at, machine, figures }, undefined, 2)}\n`,
});

async function measure(neighbourhood: Neighbourhood): Promise<FairnessFigures> {
  console.log(`beside ${neighbourhoods[neighbourhood]}`);
  await using ground = await FairnessGround.start();
  await using operator = await OperatorProcess.start({
    kubeconfig: ground.kubeconfig,
    nodeOptions,
  });
  await using quiet = await QuietSyncs.start(ground);
  await using neighbours = new AsyncDisposableStack();
  neighbours.use(await moveIn(ground, neighbourhood));
  await sleep(Number(values.settle) * 1_000);
  const cpuBefore = await cpuSecondsOf(operator.pid);
  const startMs = performance.now();
  const reactions = await quiet.measure(Number(values.rounds));
  const seconds = (performance.now() - startMs) / 1_000;
  const cpuShare = ((await cpuSecondsOf(operator.pid)) - cpuBefore) / seconds;
  const peakMebibytes = await peakMebibytesOf(operator.pid);
  return {
    neighbourhood,
    ...reactions,
    ...{ cpuShare, peakMebibytes, restarts: operator.hasEnded ? 1 : 0 },
  };
}
