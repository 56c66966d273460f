import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { Definition } from './definition.ts';

const root = new URL('../', import.meta.url);

async function readYaml(path: string): Promise<unknown> {
  return parse(await readFile(new URL(path, root), 'utf8'));
}

describe('Chart.yaml', () => {
  it('lists the custom resources for Artifact Hub as they are', async () => {
    const { annotations } = (await readYaml('charts/clustersync/Chart.yaml')) as {
      readonly annotations: Readonly<Record<string, string>>;
    };
    const listed = parse(annotations['artifacthub.io/crds'] ?? '') as Record<string, string>[];
    const definitions = await Promise.all(
      ['clustersyncs', 'syncverifications'].map(
        async (plural) => (await readYaml(`crds/${plural}.yaml`)) as Definition,
      ),
    );
    assert.deepEqual(
      listed.map(({ kind, version, name }) => [kind, version, name]),
      definitions.map(({ metadata, spec }) => [
        spec.names.kind,
        spec.versions[0].name,
        metadata.name,
      ]),
    );
  });

  it('has the version of the package, and says what has changed in it', async () => {
    const chart = (await readYaml('charts/clustersync/Chart.yaml')) as {
      readonly version: string;
      readonly appVersion: string;
      readonly annotations: Readonly<Record<string, string>>;
    };
    const { version } = (await readYaml('package.json')) as { readonly version: string };
    assert.deepEqual([chart.version, chart.appVersion], [version, version]);
    const changes = parse(chart.annotations['artifacthub.io/changes'] ?? '') as {
      readonly kind: string;
      readonly description: string;
    }[];
    // Artifact Hub accepts no others.
    const kinds = ['added', 'changed', 'deprecated', 'removed', 'fixed', 'security'];
    assert.ok(changes.length > 0);
    for (const { kind, description } of changes) {
      assert.ok(kinds.includes(kind) && description !== '', `${kind}: ${description}`);
    }
  });
});
