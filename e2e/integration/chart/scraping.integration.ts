import assert from 'node:assert/strict';
import { ownerAnnotation } from '../../../operator/operand/names.ts';
import { schemeAnnotation } from '../../../operator/operand/workload.ts';
import { render } from './helm.ts';
import { evaluate, type Series } from './promql.ts';

/** A monitor, as the Prometheus operator takes it. */
interface MonitorSpec {
  readonly namespaceSelector?: object;
  readonly endpoints?: readonly { readonly honorLabels?: boolean }[];
  readonly podMetricsEndpoints?: readonly { readonly relabelings: readonly object[] }[];
}

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
  readonly fieldConfig?: {
    readonly defaults: { readonly thresholds: { readonly steps: readonly object[] } };
  };
}

async function monitors(values: object): Promise<ReadonlyMap<string, MonitorSpec>> {
  const enabled = { serviceMonitor: { enabled: true }, podMonitor: { enabled: true } };
  const objects = await render({ ...values, metrics: enabled });
  return new Map(
    objects
      .filter(({ kind }) => kind.endsWith('Monitor'))
      .map((object) => [object.kind, (object as unknown as { spec: MonitorSpec }).spec]),
  );
}

describe('what Prometheus scrapes by the chart', () => {
  it('keeps the namespace of a sync, and gives the metrics of a pod the name of its sync', async () => {
    const found = await monitors({});
    const labelOf = (annotation: string): string =>
      `__meta_kubernetes_pod_annotation_${annotation.replaceAll(/[^a-zA-Z0-9_]/g, '_')}`;
    assert.deepEqual(
      found.get('ServiceMonitor')?.endpoints?.map(({ honorLabels }) => honorLabels),
      [true],
    );
    const { podMetricsEndpoints, namespaceSelector } = found.get('PodMonitor') ?? {};
    assert.deepEqual(
      podMetricsEndpoints?.map(({ relabelings }) => relabelings),
      [
        [
          { sourceLabels: [labelOf(ownerAnnotation)], regex: '[^/]+/(.+)', targetLabel: 'name' },
          {
            sourceLabels: [labelOf(schemeAnnotation)],
            regex: '(https)',
            targetLabel: '__scheme__',
          },
        ],
      ],
    );
    assert.deepEqual(namespaceSelector, { any: true });
  });

  it('is the pods of the watched namespaces, where these are named', async () => {
    const found = await monitors({ watchNamespaces: ['shop', 'depot'] });
    assert.deepEqual(found.get('PodMonitor')?.namespaceSelector, {
      matchNames: ['shop', 'depot'],
    });
  });
});

describe('a panel that is green where nothing is wrong', () => {
  let panels: readonly Panel[];

  before(async () => {
    const objects = await render({ metrics: { dashboards: { enabled: true } } });
    const files = objects.flatMap((object) =>
      Object.entries((object as unknown as { data?: Record<string, string> }).data ?? {}),
    );
    const [, text = ''] = files.find(([name]) => name === 'clustersync-syncs.json') ?? [];
    ({ panels } = JSON.parse(text) as { panels: readonly Panel[] });
  });

  function series(metric: string, name: string, condition: string, value: number): Series {
    const labels = { __name__: metric, namespace: 'shop', name, condition };
    return { labels, values: [value] };
  }

  const syncs = 'clustersync_condition';
  const checks = 'clustersync_verification_condition';
  const cases = [
    {
      title: 'Stalled',
      well: [series(syncs, 'orders', 'Ready', 1), series(syncs, 'carts', 'Ready', 0)],
      wrong: series(syncs, 'carts', 'Stalled', 1),
    },
    {
      title: 'Verifications with differences',
      well: [
        ...[series(checks, 'one', 'Ready', 1), series(checks, 'one', 'Consistent', 1)],
        series(checks, 'two', 'Ready', 1),
      ],
      wrong: series(checks, 'two', 'Consistent', 0),
    },
  ];
  for (const { title, well, wrong } of cases) {
    it(`shows nothing where nothing is known, then what is wrong: ${title}`, async () => {
      const panel = panels.find((each) => each.title === title);
      const expr = (panel?.targets?.[0]?.expr ?? '').replaceAll(/\$\w+/g, '.*');
      const values = async (given: readonly Series[]): Promise<unknown[]> => {
        const [evaluation] = await evaluate([expr], given);
        return (evaluation?.series ?? []).flatMap((one) => one.values);
      };
      assert.deepEqual(await values([]), []);
      assert.deepEqual(await values(well), [0]);
      assert.deepEqual(await values([...well, wrong]), [1]);
      assert.deepEqual(panel?.fieldConfig?.defaults.thresholds.steps, [
        { color: 'green', value: null },
        { color: 'red', value: 1 },
      ]);
    });
  }
});
