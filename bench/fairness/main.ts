// Measures how soon the operator reacts to the ClusterSyncs of some namespaces while those of other users are broken or hostile, on a
// real API server, and writes bench/results/fairness.*.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { OperatorProcess } from '../../e2e/ground/operator-process.ts';
import { cpuSecondsOf, peakMebibytesOf } from '../process-usage.ts';
import { machineText, writeResults } from '../results.ts';
import { FairnessGround } from './ground.ts';
import { moveIn, neighbourNamespaces, neighbourhoods, type Neighbourhood } from './neighbours.ts';
import { QuietSyncs } from './quiet.ts';
import { tableOf, type FairnessFigures } from './report.ts';

const { values } = parseArgs({
  options: {
    /** How often each quiet ClusterSync is changed, for each kind of neighbour. */
    rounds: { type: 'string', default: '4' },
    /** How long the neighbours run before the measurement. */
    settle: { type: 'string', default: '20' },
    /** Which neighbours; all by default, and results are written only then. */
    beside: { type: 'string' },
  },
});
/** As in the chart. */
const nodeOptions = ['--max-semi-space-size=4', '--max-old-space-size=256'];

const quietNamespaces = ['quiet-a', 'quiet-b', 'quiet-c'];
const controlNamespaces = ['control-a', 'control-b', 'control-c'];

const figures: FairnessFigures[] = [];
for (const neighbourhood of Object.keys(neighbourhoods) as Neighbourhood[]) {
  if (values.beside !== undefined && values.beside !== neighbourhood) continue;
  const found = await measure(neighbourhood);
  figures.push(found);
  console.log(tableOf(figures));
}
const at = new Date().toISOString();
const machine = machineText();
const samples = figures[0]?.quiet.specMs.length ?? 0;
const intro = `# Reactions to ClusterSyncs of quiet namespaces

${at}, 30 ClusterSyncs in three namespaces, ${samples} changes of each kind, ${machine}. API server, etcd, stand-ins, hostile pods and bench share the machine. In brackets, those of another operator at the same time, on the same API server, that has 30 such ClusterSyncs and none of the neighbours to look after: what the machine and the API server take is in both. A syncer is queried once a second: that is part of the time from its answer.

`;
if (values.beside === undefined)
  await writeResults('fairness', {
    md: `${intro}${tableOf(figures)}`,
    json: `${JSON.stringify({ at, machine, figures }, undefined, 2)}\n`,
  });

async function measure(neighbourhood: Neighbourhood): Promise<FairnessFigures> {
  console.log(`beside ${neighbourhoods[neighbourhood]}`);
  await using ground = await FairnessGround.start();
  await using operators = new AsyncDisposableStack();
  const start = async (leaseName: string, watched: readonly string[]): Promise<OperatorProcess> => {
    const options = { leaseName, watchNamespaces: watched.join(',') };
    const { kubeconfig } = ground;
    return operators.use(await OperatorProcess.start({ kubeconfig, nodeOptions, options }));
  };
  const operator = await start('measured', [...quietNamespaces, ...neighbourNamespaces]);
  const other = await start('control', controlNamespaces);
  await using quiet = await QuietSyncs.start(ground, quietNamespaces);
  await using control = await QuietSyncs.start(ground, controlNamespaces);
  await using neighbours = new AsyncDisposableStack();
  neighbours.use(await moveIn(ground, neighbourhood));
  await sleep(Number(values.settle) * 1_000);
  const cpuBefore = await cpuSecondsOf(operator.pid);
  const startMs = performance.now();
  const rounds = Number(values.rounds);
  const [quietReactions, controlReactions] = await Promise.all([
    quiet.measure(rounds),
    control.measure(rounds),
  ]);
  const seconds = (performance.now() - startMs) / 1_000;
  const cpuShare = ((await cpuSecondsOf(operator.pid)) - cpuBefore) / seconds;
  if (other.hasEnded) throw new Error('the other operator has ended: nothing to compare with');
  const peakMebibytes = await peakMebibytesOf(operator.pid);
  return {
    neighbourhood,
    ...{ quiet: quietReactions, control: controlReactions },
    ...{ cpuShare, peakMebibytes, restarts: operator.hasEnded ? 1 : 0 },
  };
}
