import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The part of a CPU profile that is read here, as the option --cpu-prof of Node.js writes it. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
    };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** What has taken the time of a thread. */
export interface Share {
  readonly what: string;
  /** Of the time in which it worked. */
  readonly percent: number;
}

/** What took the time in the profiles of a folder, the most first. Idle time does not count. */
export async function sharesIn(folder: string, most: number): Promise<Share[]> {
  const times = new Map<string, number>();
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.cpuprofile')) continue;
    const profile = JSON.parse(await readFile(join(folder, file), 'utf8')) as CpuProfile;
    const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
    profile.samples.forEach((id, index) => {
      const name = names.get(id) ?? '';
      if (name === '(idle)') return;
      times.set(name, (times.get(name) ?? 0) + (profile.timeDeltas[index] ?? 0));
    });
  }
  const total = [...times.values()].reduce((sum, time) => sum + time, 0);
  return [...times]
    .map(([what, time]) => ({ what, percent: (100 * time) / total }))
    .sort((one, other) => other.percent - one.percent)
    .slice(0, most);
}

function nameOf({
  functionName,
  url,
  lineNumber,
}: CpuProfile['nodes'][number]['callFrame']): string {
  const name = functionName === '' ? 'anonymous' : functionName;
  const file = url.split('/').slice(-2).join('/');
  return file === '' ? name : `${name} ${file}:${lineNumber + 1}`;
}
