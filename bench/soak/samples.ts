import type { KubeClient } from '../../operator/kube/client.ts';
import type { OperatorProcess } from '../../e2e/ground/operator-process.ts';

/** The resources that an operator holds at one time. */
export interface Sample {
  readonly residentMebibytes: number;
  readonly heapMebibytes: number;
  readonly openFiles: number;
  /** Open watches at the API server, including those of other clients. */
  readonly watches: number;
}

/** How much growth of each figure may be noise. */
const tolerance: Record<keyof Sample, { readonly share: number; readonly more: number }> = {
  residentMebibytes: { share: 0.1, more: 10 },
  // Measured right after a garbage collection.
  heapMebibytes: { share: 0.05, more: 3 },
  openFiles: { share: 0.2, more: 10 },
  watches: { share: 0, more: 3 },
};

/** Takes a sample of an operator, and of the API server that it uses. */
export async function sampleOf(operator: OperatorProcess, client: KubeClient): Promise<Sample> {
  const metrics = await operator.metrics();
  const path = '/metrics';
  const { signal } = new AbortController();
  const served = String(await client.raw({ method: 'GET', path, signal, deadlineMs: 60_000 }));
  return {
    residentMebibytes: Math.round(sumOf(metrics, /^process_resident_memory_bytes /) / 2 ** 20),
    heapMebibytes: Math.round(sumOf(metrics, /^nodejs_heap_size_used_bytes /) / 2 ** 20),
    openFiles: sumOf(metrics, /^process_open_fds /),
    watches: sumOf(served, /^apiserver_longrunning_requests\{.*verb="WATCH"/),
  };
}

/**
 * What has grown, in words: compares the minimum of the last quarter with that of the second quarter. Caches fill in the first
 * one; the minimum is free of garbage and of work in progress.
 */
export function growthOf(samples: readonly Sample[]): string[] {
  const quarter = Math.floor(samples.length / 4);
  const names = Object.keys(tolerance) as (keyof Sample)[];
  return names.flatMap((name) => {
    const least = (part: readonly Sample[]): number =>
      Math.min(...part.map((sample) => sample[name]));
    const before = least(samples.slice(quarter, 2 * quarter));
    const after = least(samples.slice(-quarter));
    const { share, more } = tolerance[name];
    return after > before * (1 + share) + more ? [`${name} grew from ${before} to ${after}`] : [];
  });
}

function sumOf(metrics: string, line: RegExp): number {
  const values = metrics.split('\n').filter((each) => line.test(each));
  return values.reduce((sum, each) => sum + Number(each.slice(each.lastIndexOf(' ') + 1)), 0);
}
