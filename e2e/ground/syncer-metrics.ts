import type { SyncerProcess } from './syncer-process.ts';

/** The samples of a syncer's metrics, by their names with labels. */
export async function metricsOf({
  url,
}: Pick<SyncerProcess, 'url'>): Promise<ReadonlyMap<string, number>> {
  const text = await metricsText({ url });
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    samples.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))] as const;
    }),
  );
}

/** A syncer's metrics, as it serves them. */
export async function metricsText({ url }: Pick<SyncerProcess, 'url'>): Promise<string> {
  return await (await fetch(`${url}/metrics`)).text();
}
