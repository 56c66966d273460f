import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { run } from '../../ground/command.ts';
import { toolPath } from '../../ground/tool-path.ts';

/** The folder of the chart. */
export const chartFolder = new URL('../../../charts/clustersync', import.meta.url).pathname;

/** The namespace of the releases of the tests. */
export const releaseNamespace = 'clustersync';

/** The release of the tests. */
export const releaseName = 'clustersync';

/** Runs the pinned helm, and returns what it prints. */
export async function helm(
  args: readonly string[],
  options: { readonly input?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  return await run(toolPath('helm', 'helm'), args, options);
}

/** The objects that the chart makes of these values; its hooks among them. */
export async function render(values: object = {}, release = releaseName): Promise<KubeObject[]> {
  const text = await helm(
    [
      ...['template', release, chartFolder, '--namespace', releaseNamespace],
      ...['--kube-version', '1.34.0', '--values', '-'],
    ],
    { input: JSON.stringify(values) },
  );
  const documents = parseAllDocuments(text);
  if (!Array.isArray(documents)) throw new Error('helm printed no objects');
  return documents
    .map((document) => document.toJS() as KubeObject | null)
    .filter((each) => each !== null);
}
