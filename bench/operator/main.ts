// Measures an operator with many ClusterSyncs, each with a stand-in for its syncer, on a real API server, and writes
// bench/results/operator.*.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { OperatorProcess } from '../../e2e/ground/operator-process.ts';
import { until } from '../../e2e/ground/until.ts';
import type { ClusterSync } from '../../operator/api/clustersync.ts';
import { findCondition } from '../../operator/kube/conditions.ts';
import { machineText, writeResults } from '../results.ts';
import { cpuSecondsOf, peakMebibytesOf } from '../process-usage.ts';
import { Fleet } from './fleet.ts';
import { tableOf, type OperatorFigures } from './report.ts';
import { kindsOf, requestsBetween, requestsIn, valueIn } from './requests.ts';

const { values } = parseArgs({
  options: {
    syncs: { type: 'string', default: '1000' },
    /** How long the steady state and the idle state are measured. */
    seconds: { type: 'string', default: '120' },
    /** How long the rest of a burst may take before that. */
    settle: { type: 'string', default: '100' },
    /** How many changes of spec.state are measured. */
    changes: { type: 'string', default: '300' },
    /** A folder for a CPU profile of the steady state. */
    profile: { type: 'string' },
  },
});
const count = Number(values.syncs);
const seconds = Number(values.seconds);

await using fleet = await timed(`${count} ClusterSyncs and their tools`, () => Fleet.start(count));

/** As in the chart: the second one follows from the memory limit of the pod. */
const memoryOptions = ['--max-semi-space-size=4', '--max-old-space-size=256'];
const { kubeconfig } = fleet;
let operator = await OperatorProcess.start({ kubeconfig, nodeOptions: memoryOptions });
await using _ended = new AsyncDisposableStack();
_ended.defer(async () => {
  await operator[Symbol.asyncDispose]();
});
const madeSeconds = await secondsOf('all is made for them', async () => {
  await fleet.untilAllMade();
});
await fleet.runPods();
const startedSeconds = await secondsOf('all are in sync', async () => {
  await fleet.untilAll('in sync', isReady('InSync'));
});

await stopOperator();
await operator[Symbol.asyncDispose]();
await fleet.patchAll({ state: 'Paused' });
operator = await OperatorProcess.start({
  kubeconfig,
  nodeOptions: [...memoryOptions, ...profileOptions()],
});
const reconciledSeconds = await secondsOf('all are reconciled after a start', async () => {
  await fleet.untilAll('paused', isReady('Paused'));
});
const resumedSeconds = await secondsOf('all resumed', async () => {
  await fleet.patchAll({ state: 'Running' });
  await fleet.untilAll('in sync again', isReady('InSync'));
});

await settle();
const steady = await measure('the steady state');
const delays = await timed('changes of spec.state', () => delaysOf(Number(values.changes)));

await fleet.patchAll({ state: 'Committed' });
await timed('all are committed', () => fleet.untilAll('committed', isReady('Committed')));
await settle();
const idle = await measure('the idle state');
const metrics = await operator.metrics();
const peakMebibytes = await peakMebibytesOf(operator.pid);
const errors = (await operator.log())
  .split('\n')
  .filter((line) => line.includes('reconcile failed'));
if (errors.length > 0) console.log(`reconciles that failed: ${errors.length}: ${errors[0] ?? ''}`);
await stopOperator();

const figures: OperatorFigures = {
  ...{ count, madeSeconds, startedSeconds, reconciledSeconds, resumedSeconds },
  ...{ steady, idle, delaysMs: delays, peakMebibytes },
  residentMebibytes: valueIn(metrics, 'process_resident_memory_bytes') / 2 ** 20,
};
const at = new Date().toISOString();
const machine = machineText();
const intro = `# The operator with many ClusterSyncs\n\n${at}, ${count} ClusterSyncs with a stand-in for each syncer, ${machine}. API server, etcd, stand-ins and bench share the machine.\n\n`;
const table = tableOf(figures);
await writeResults('operator', {
  md: `${intro}${table}`,
  json: `${JSON.stringify({ at, machine, seconds, ...figures }, undefined, 2)}\n`,
});
console.log(`\n${table}`);

function isReady(reason: string): (sync: ClusterSync) => boolean {
  return ({ metadata, status }) => {
    const ready = findCondition(status?.conditions, 'Ready');
    return (
      status?.observedGeneration === metadata.generation &&
      ready?.status === 'True' &&
      ready.reason === reason
    );
  };
}

async function settle(): Promise<void> {
  await sleep(Number(values.settle) * 1_000);
}

async function measure(what: string): Promise<OperatorFigures['steady']> {
  const before = await operator.metrics();
  const cpuBefore = await cpuSecondsOf(operator.pid);
  const pollsBefore = fleet.polls;
  const startMs = Date.now();
  await sleep(seconds * 1_000);
  const endMs = Date.now();
  const elapsed = (endMs - startMs) / 1_000;
  const after = await operator.metrics();
  const cpuSeconds = (await cpuSecondsOf(operator.pid)) - cpuBefore;
  const result = {
    seconds: elapsed,
    requests: requestsBetween(requestsIn(before), requestsIn(after)),
    writes: kindsOf(await fleet.operatorWrites(startMs, endMs)),
    polls: fleet.polls - pollsBefore,
    cpuShare: cpuSeconds / elapsed,
  };
  console.log(`${what}: ${JSON.stringify(result)}`);
  return result;
}

/** Milliseconds from a change of spec.state to the command at the tool, for one sync after the other. */
async function delaysOf(changes: number): Promise<OperatorFigures['delaysMs']> {
  const delays: number[] = [];
  const wholes: number[] = [];
  for (let change = 0; change < changes; change++) {
    const index = change % count;
    const isPause = Math.floor(change / count) % 2 === 0;
    const sinceMs = performance.timeOrigin + performance.now();
    await fleet.patch(index, { state: isPause ? 'Paused' : 'Running' });
    const storedMs = performance.timeOrigin + performance.now();
    const name = isPause ? 'pause' : 'resume';
    await until(
      `${name} is sent`,
      () => fleet.takenAtMs(index, name, sinceMs) !== undefined,
      30_000,
    );
    const takenMs = fleet.takenAtMs(index, name, sinceMs) ?? Number.NaN;
    // This often happens before the API server has answered.
    delays.push(Math.max(0, takenMs - storedMs));
    wholes.push(takenMs - sinceMs);
  }
  return { delays, wholes };
}

async function stopOperator(): Promise<void> {
  operator.kill();
  await operator.ended();
}

function profileOptions(): string[] {
  const { profile } = values;
  return profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
}

async function secondsOf(what: string, task: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await timed(what, task);
  return (performance.now() - startMs) / 1_000;
}

async function timed<T>(what: string, task: () => Promise<T>): Promise<T> {
  const startMs = performance.now();
  const result = await task();
  console.log(`${what}: ${((performance.now() - startMs) / 1_000).toFixed(1)} s`);
  return result;
}
