import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { parse, parseAllDocuments } from 'yaml';
import { managedLabels } from '../../../operator/operand/names.ts';
import type { ApiServer } from '../../ground/kubernetes/api-server.ts';
import { useApiServer } from '../kube/use-api-server.ts';
import { installDefinitions } from './custom-resources.ts';

const examples = new URL('../../../docs/examples/', import.meta.url);

interface NetworkPolicySpec {
  readonly podSelector?: LabelSelector;
  readonly ingress?: readonly {
    readonly from?: readonly { readonly podSelector?: LabelSelector }[];
  }[];
}

interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
}

interface Example {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The custom resources in docs/examples, by their files. */
async function customResources(): Promise<Map<string, readonly Example[]>> {
  const files = (await readdir(examples)).filter((name) => name.endsWith('.yaml'));
  const found = new Map<string, readonly Example[]>();
  for (const file of files) {
    const documents = parseAllDocuments(await readFile(new URL(file, examples), 'utf8'));
    assert.ok(Array.isArray(documents));
    const objects = documents.map((document) => document.toJS() as Example);
    const own = objects.filter(({ apiVersion }) => apiVersion.startsWith('clustersync.dev/'));
    if (own.length > 0) found.set(file, own);
  }
  return found;
}

describe('the examples, on a real API server', () => {
  let server: ApiServer;
  useApiServer(async (started, client) => {
    server = started;
    await installDefinitions(client);
  });

  it('are taken as they are, without a field that is not known', async () => {
    const found = await customResources();
    assert.ok(found.size >= 7, [...found.keys()].join());
    for (const [file, objects] of found) {
      for (const object of objects) {
        const input = JSON.stringify(object);
        const args = ['create', '--dry-run=server', '--validate=strict', '--filename=-'];
        const printed = await server.kubectl(args, { input });
        assert.match(printed, /created \(server dry run\)/, file);
      }
    }
  });

  it('of NetworkPolicies are taken as they are, and select the pods of the operator and of the chart', async () => {
    const text = await readFile(new URL('network-policies.yaml', examples), 'utf8');
    // Their namespaces do not exist here.
    const input = text.replaceAll(/^ {2}namespace: .*$/gm, '  namespace: default');
    const args = ['create', '--dry-run=server', '--validate=strict', '--filename=-'];
    const printed = await server.kubectl(args, { input });
    assert.equal(printed.match(/created \(server dry run\)/g)?.length, 2);
    const documents = parseAllDocuments(text);
    assert.ok(Array.isArray(documents));
    const [ofDatabases, ofTest] = documents.map(
      (document) => document.toJS() as { readonly spec: NetworkPolicySpec },
    );
    const from = ofDatabases?.spec.ingress?.[0]?.from?.[0];
    assert.deepEqual(from?.podSelector?.matchLabels, managedLabels);
    const templates = new URL('../../../charts/clustersync/templates/', import.meta.url);
    const helpers = await readFile(new URL('_helpers.tpl', templates), 'utf8');
    const [, ofChart = ''] =
      /define "clustersync\.testLabels" -}}\n([^]*?)\{{- end/.exec(helpers) ?? [];
    const labels = parse(ofChart.replaceAll('{{ .Release.Name }}', 'any')) as Record<
      string,
      string
    >;
    const selected = ofTest?.spec.podSelector?.matchLabels ?? {};
    assert.deepEqual({ ...selected, 'app.kubernetes.io/instance': 'any' }, labels);
  });

  it('show every option of both kinds', async () => {
    const shown = new Map<string, Set<string>>();
    for (const { kind, spec } of [...(await customResources()).values()].flat()) {
      const names = shown.get(kind) ?? new Set();
      for (const name of Object.keys(spec)) names.add(name);
      shown.set(kind, names);
    }
    for (const [kind, plural] of [
      ['ClusterSync', 'clustersyncs'],
      ['SyncVerification', 'syncverifications'],
    ] as const) {
      const path = '--output=jsonpath={.spec.versions[0].schema.openAPIV3Schema.properties.spec}';
      const crd = `${plural}.clustersync.dev`;
      const text = await server.kubectl(['get', 'customresourcedefinition', crd, path]);
      const { properties } = JSON.parse(text) as { properties: object };
      assert.deepEqual([...(shown.get(kind) ?? [])].sort(), Object.keys(properties).sort());
    }
  });

  it('are found by what they ask for, and by how far they are', async () => {
    const [first, second] = [
      await objectOf('clustersync.yaml'),
      await objectOf('syncverification.yaml'),
    ];
    const apply = async (object: object): Promise<void> => {
      await server.kubectl(['apply', '--filename=-'], { input: JSON.stringify(object) });
    };
    await apply(first);
    await apply({
      ...first,
      metadata: { name: 'paused' },
      spec: { ...first.spec, state: 'Paused' },
    });
    await apply(second);
    const status = JSON.stringify({ status: { phase: 'Stalled' } });
    await server.kubectl([
      ...['patch', 'clustersync', 'shop', '--subresource=status', '--type=merge'],
      `--patch=${status}`,
    ]);
    const names = async (kinds: string, selector?: string): Promise<string[]> => {
      const args = selector === undefined ? [] : [`--field-selector=${selector}`];
      const text = await server.kubectl(['get', kinds, '--output=name', ...args]);
      return text.split('\n').filter((line) => line !== '');
    };
    const shop = 'clustersync.clustersync.dev/shop';
    const paused = 'clustersync.clustersync.dev/paused';
    assert.deepEqual(await names('csync', 'spec.state=Paused'), [paused]);
    assert.deepEqual(await names('csync', 'spec.state!=Paused,spec.direction=Forward'), [shop]);
    assert.deepEqual(await names('csync', 'status.phase=Stalled'), [shop]);
    assert.deepEqual(await names('csync', 'spec.destination.name=another'), []);
    const verification = 'syncverification.clustersync.dev/shop';
    assert.deepEqual(await names('csyncv', 'spec.clusterSyncRef.name=shop'), [verification]);
    assert.deepEqual(await names('csyncv', 'status.verdict=Equal'), []);
    assert.deepEqual(await names('csync-all'), [paused, shop, verification]);
  });
});

async function objectOf(file: string): Promise<Example> {
  const [object] = (await customResources()).get(file) ?? [];
  assert.ok(object, file);
  return object;
}
