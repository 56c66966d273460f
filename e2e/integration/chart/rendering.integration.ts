import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { chartValues } from '../../../docs/chart-values.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { chartFolder, helm, render } from './helm.ts';
import { differenceOf } from './object-difference.ts';
import { valueCases } from './value-cases.ts';

/** They are long, and take most of the time. */
const withoutDefinitions = { crds: { enabled: false } };

describe('the objects of the chart', () => {
  describe('have what a value says, and nothing else is different', () => {
    const renderings = new Map<string, Promise<KubeObject[]>>();

    /** Renders the same values once. */
    async function rendered(values: object): Promise<KubeObject[]> {
      const key = JSON.stringify(values);
      const rendering = renderings.get(key) ?? render(values);
      renderings.set(key, rendering);
      return await rendering;
    }

    for (const { value, values, base = {}, differences } of valueCases) {
      it(value, async () => {
        const common = value.startsWith('crds.') ? base : merged(base, withoutDefinitions);
        const before = await rendered(common);
        const after = await rendered(merged(common, values));
        assert.deepEqual([...differenceOf(before, after)].sort(), [...differences].sort());
      });
    }

    it('every value', async () => {
      const [values, schema] = await Promise.all(
        ['values.yaml', 'values.schema.json'].map(
          async (name) => await readFile(join(chartFolder, name), 'utf8'),
        ),
      );
      const paths = chartValues(values ?? '', schema ?? '').map(({ path }) => path);
      assert.deepEqual(valueCases.map(({ value }) => value).sort(), paths.sort());
    });
  });

  it('are of the watched namespaces and the own one alone, where there are such', async () => {
    const objects = await render({ ...withoutDefinitions, watchNamespaces: ['one'] });
    for (const { kind, metadata } of objects) {
      assert.ok(['clustersync', 'one'].includes(metadata.namespace ?? 'none'), kind);
    }
  });

  it('are made without complaints, and their kinds are listed in Chart.yaml', async () => {
    const printed = await helm(['lint', '--strict', '--kube-version', '1.34.0', chartFolder]);
    assert.match(printed, /0 chart\(s\) failed/);
    const chart = parse(await readFile(join(chartFolder, 'Chart.yaml'), 'utf8')) as {
      annotations: Record<string, string>;
    };
    const listed = parse(chart.annotations['artifacthub.io/crds'] ?? '') as { name: string }[];
    const definitions = (await render()).filter(({ kind }) => kind === 'CustomResourceDefinition');
    assert.deepEqual(
      listed.map(({ name }) => name),
      definitions.map(({ metadata }) => metadata.name),
    );
  });

  for (const page of [
    'README.md',
    'docs/guide.md',
    'docs/install.md',
    'charts/clustersync/README.md',
  ]) {
    it(`are made by the commands of ${page}`, async () => {
      const text = await readFile(join(chartFolder, '../..', page), 'utf8');
      const commands = text.replaceAll(/\\\n/g, ' ').match(/(?<=^ *)helm install .*$/gm) ?? [];
      assert.ok(commands.length > 0);
      for (const command of commands) {
        const args = command.replaceAll("'", '').replaceAll('--create-namespace', '').split(/ +/);
        const [, , release = '', chart, ...options] = args.filter((arg) => arg !== '');
        assert.equal(chart, 'charts/clustersync');
        await helm(['template', release, chartFolder, '--kube-version', '1.34.0', ...options]);
      }
    });
  }

  it('leave the nodes of a single operator to be drained', async () => {
    const objects = await render({ ...withoutDefinitions, podDisruptionBudget: { enabled: true } });
    assert.ok(!objects.some(({ kind }) => kind === 'PodDisruptionBudget'));
  });

  it('keep apart two releases of one namespace', async () => {
    const names = async (release: string): Promise<string[]> => {
      const objects = await render({ ...withoutDefinitions, replicas: 2 }, release);
      return objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    };
    const [one, other] = await Promise.all([names('one'), names('other')]);
    assert.deepEqual(
      one.filter((name) => other.includes(name)),
      [],
    );
  });

  const wrongValues: readonly (readonly [values: object, message: RegExp])[] = [
    [{ imagee: {} }, /imagee/],
    [{ image: { tags: 'x' } }, /image.*tags/s],
    [{ image: { digest: 'latest' } }, /image.*digest.*sha256/s],
    [{ image: { pullPolicy: 'Sometimes' } }, /pullPolicy.*Always.*IfNotPresent.*Never/s],
    [{ replicas: 'many' }, /replicas.*integer/s],
    [{ replicas: -1 }, /replicas.*0/s],
    [{ logLevel: 'loud' }, /logLevel.*trace.*debug/s],
    [{ watchNamespaces: 'one' }, /watchNamespaces.*array/s],
    [{ watchNamespaces: ['One'] }, /watchNamespaces.*0.*One/s],
    [{ crds: { keep: 'yes' } }, /crds.*keep.*boolean/s],
    [{ podLabels: { a: 1 } }, /podLabels.*a.*string/s],
    [{ extraEnv: [{ value: 'x' }] }, /extraEnv.*0.*name/s],
    [{ extraArgs: ['logLevel=debug'] }, /extraArgs.*0/s],
    [{ resources: { memory: '1Gi' } }, /resources.*memory/s],
    [{ podDisruptionBudget: { minAvailable: 'half' } }, /minAvailable/],
    [{ metrics: { serviceMonitor: { interval: 'often' } } }, /interval.*often/s],
    [{ metrics: { prometheusRule: { runbookUrl: 'docs/' } } }, /runbookUrl/],
    [{ docsUrl: 'https://docs.example.dev/' }, /docsUrl/],
    [{ tolerations: [{ effect: 'Never' }] }, /effect.*NoSchedule/s],
    [{ topologySpreadConstraints: [{ maxSkew: 1 }] }, /topologyKey/],
    [{ serviceAccount: { create: false } }, /serviceAccount\.name is required/],
  ];
  for (const [values, message] of wrongValues) {
    it(`are not made of ${JSON.stringify(values)}`, async () => {
      await assert.rejects(render(values), message);
    });
  }

  it('meet the Pod Security Standard "restricted"', async () => {
    const specs = (await render(withoutDefinitions)).flatMap(({ kind, ...object }) => {
      const { spec } = object as unknown as { spec: { template?: { spec: object } } };
      return kind === 'Pod' ? [spec] : kind === 'Deployment' ? [spec.template?.spec] : [];
    }) as PodSpec[];
    assert.equal(specs.length, 2);
    for (const { securityContext, containers, ...spec } of specs) {
      assert.deepEqual(securityContext, {
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      for (const container of containers) {
        assert.deepEqual(container.securityContext, {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
      for (const name of ['hostNetwork', 'hostPID', 'hostIPC', 'volumes', 'initContainers']) {
        assert.ok(!(name in spec), name);
      }
    }
  });
});

interface PodSpec {
  readonly securityContext: object;
  readonly containers: readonly { readonly securityContext: object }[];
}

/** The values of both: those of the second win. */
function merged(one: object, other: object): object {
  const result: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const former = result[name];
    result[name] = isObject(former) && isObject(value) ? merged(former, value) : (value as unknown);
  }
  return result;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
