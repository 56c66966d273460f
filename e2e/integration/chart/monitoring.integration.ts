import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { metricsIn, metricsOfPrograms, type Metric } from '../../../docs/program-metrics.ts';
import { alertCases } from './alert-cases.ts';
import { render } from './helm.ts';
import { evaluate, type Evaluation, type Series } from './promql.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly { readonly expr: string }[];
}

interface Dashboard {
  readonly uid: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
}

/** The labels that Prometheus gives what it scrapes by the chart's monitors. */
const targetLabels = ['namespace', 'name', 'pod', 'job'];
const runbooks = new URL('../../../docs/runbooks/', import.meta.url);

describe('the monitoring of the chart', () => {
  let rules: readonly Rule[];
  const dashboards = new Map<string, Dashboard>();
  const metrics = new Map<string, Metric>();

  before(async () => {
    for (const metric of everyMetric()) metrics.set(metric.name, metric);
    const objects = await render({
      crds: { enabled: false },
      metrics: { prometheusRule: { enabled: true }, dashboards: { enabled: true } },
    });
    for (const object of objects) {
      const { spec, data } = object as unknown as {
        readonly spec: { readonly groups: readonly { readonly rules: readonly Rule[] }[] };
        readonly data: Readonly<Record<string, string>>;
      };
      if (object.kind === 'PrometheusRule') rules = spec.groups.flatMap((group) => group.rules);
      if (object.kind !== 'ConfigMap') continue;
      for (const [name, text] of Object.entries(data)) {
        dashboards.set(name, JSON.parse(text) as Dashboard);
      }
    }
  });

  function assertKnown({ selectors }: Evaluation, where: string): void {
    assert.ok(selectors.length > 0, where);
    for (const { metric: name, labels } of selectors) {
      const metric = metrics.get(name);
      assert.ok(metric, `${where}: there is no metric ${name}`);
      const known = [...metric.labels, ...targetLabels];
      for (const label of labels) assert.ok(known.includes(label), `${where}: ${name}{${label}}`);
    }
  }

  for (const { alert, what, series, firesAtMinute, says, reason } of alertCases) {
    it(`${alert} ${firesAtMinute === undefined ? 'does not fire' : 'fires'} when ${what}`, async () => {
      const rule = rules.find((each) => each.alert === alert);
      assert.ok(rule);
      const [evaluation] = await evaluate([rule.expr], series);
      assert.ok(evaluation);
      const minutes = Number(/^(\d+)m$/.exec(rule.for ?? '0m')?.[1]);
      assert.equal(firstFiring(evaluation.series, minutes), firesAtMinute);
      if (firesAtMinute === undefined) return;
      // What the texts name is there.
      const texts = Object.values(rule.annotations).join(' ');
      if (says) assert.match(texts, says);
      for (const [, label = ''] of texts.matchAll(/\$labels\.(\w+)/g)) {
        for (const { labels } of evaluation.series) assert.ok(label in labels, label);
      }
      const [query] = queriesIn(texts, evaluation.series[0]?.labels ?? {});
      if (reason !== undefined) assert.ok(query, 'the texts ask for no reason');
      if (query === undefined) return;
      const [answer] = await evaluate([query], series);
      const there = answer?.series.filter(({ values }) => (values[firesAtMinute] ?? null) !== null);
      assert.deepEqual(
        there?.map(({ labels }) => labels['reason']),
        reason === undefined ? [] : [reason],
      );
    });
  }

  it('tells the reason where there is a metric of it, and never as a label, which would start the alert anew', () => {
    const asking = rules.filter(({ annotations }) =>
      annotations['description']?.includes('| query'),
    );
    assert.deepEqual(
      asking.map(({ alert }) => alert),
      [
        ...['Stalled', 'NotReady', 'CopyBlocked', 'CommitHangs'],
        ...['VerificationStalled', 'VerificationBlocked', 'VerificationStuck'],
      ].map((name) => `Clustersync${name}`),
    );
    for (const { labels, alert } of rules)
      assert.deepEqual(Object.keys(labels), ['severity'], alert);
  });

  it('says of every alert, in the words of the page for the night, whether it can wait', () => {
    const page = readFileSync(new URL('../troubleshooting.md', runbooks), 'utf8');
    for (const { alert, annotations } of rules) {
      const row = page.split('\n').find((line) => line.startsWith(`| \`${alert}\``));
      const [, , , untilMorning = ''] = row?.split('|') ?? [];
      assert.equal(
        annotations['until_morning'],
        untilMorning.replaceAll(/[*`]/g, '').trim(),
        alert,
      );
    }
  });

  it('is critical where somebody may have to get up for it', () => {
    const critical = rules.filter(({ labels }) => labels['severity'] === 'critical');
    assert.deepEqual(
      critical.map(({ alert }) => alert),
      [
        ...['OperatorDown', 'Stalled', 'CommitHangs', 'OplogWindowShort', 'OplogRunningOut'],
        'VerificationDifferent',
      ].map((name) => `Clustersync${name}`),
    );
  });

  it('has cases of both kinds for every alert', () => {
    for (const { alert } of rules) {
      const cases = alertCases.filter((each) => each.alert === alert);
      assert.ok(
        cases.some(({ firesAtMinute }) => firesAtMinute !== undefined),
        alert,
      );
      assert.ok(
        cases.some(({ firesAtMinute }) => firesAtMinute === undefined),
        alert,
      );
    }
  });

  it('asks in its alerts for metrics that there are', async () => {
    const evaluations = await evaluate(rules.map(({ expr }) => expr));
    for (const [index, evaluation] of evaluations.entries()) {
      assertKnown(evaluation, rules[index]?.alert ?? '');
    }
  });

  it('has a runbook for every alert', () => {
    for (const { alert, annotations, labels } of rules) {
      // Without an address of the documentation there is no link that would lead nowhere.
      assert.ok(!('runbook_url' in annotations), alert);
      const page = (annotations['runbook'] ?? '').replace(/^docs\/runbooks\//, '');
      const text = readFileSync(new URL(page, runbooks), 'utf8');
      assert.ok(text.includes(`\`${alert}\``), `${page} does not name ${alert}`);
      assert.match(labels['severity'] ?? '', /^(warning|critical)$/);
      for (const name of ['summary', 'description']) assert.match(annotations[name] ?? '', /\.$/);
    }
  });

  it('has two dashboards', () => {
    assert.deepEqual(
      [...dashboards.keys()],
      ['clustersync-operator.json', 'clustersync-syncs.json'],
    );
  });

  it('asks in every panel for metrics that there are', async () => {
    for (const [file, { panels, templating }] of dashboards) {
      const names = templating.list.map(({ name }) => name);
      const asked = panels.flatMap(({ title, targets = [] }) =>
        targets.map(({ expr }) => ({ title, expr: withoutVariables(expr, names) })),
      );
      assert.ok(asked.length > 10);
      const evaluations = await evaluate(asked.map(({ expr }) => expr));
      for (const [index, evaluation] of evaluations.entries()) {
        assertKnown(evaluation, `${file}: ${asked[index]?.title ?? ''}`);
      }
    }
  });

  it('asks for conditions that there are', () => {
    const text = JSON.stringify([rules, [...dashboards.values()]]);
    const asked = new Set([...text.matchAll(/condition=\\*"(\w+)/g)].map(([, type]) => type));
    assert.ok(asked.size >= 5, [...asked].join());
    const documented = readFileSync(new URL('../reference/conditions.md', runbooks), 'utf8');
    for (const type of asked) assert.ok(documented.includes(`| \`${type ?? ''}\``), type);
  });

  it('has panels beside each other, and not on each other', () => {
    for (const { panels } of dashboards.values()) {
      assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
      for (const { gridPos: one, title, id } of panels) {
        assert.ok(one.x + one.w <= 24, title);
        for (const { gridPos: other, title: otherTitle } of panels.filter((each) => each.id > id)) {
          const isBeside = one.x + one.w <= other.x || other.x + other.w <= one.x;
          const isAbove = one.y + one.h <= other.y || other.y + other.h <= one.y;
          assert.ok(isBeside || isAbove, `${title} and ${otherTitle}`);
        }
      }
    }
  });
});

/** The metrics of all programs, the parts of histograms among them. */
function everyMetric(): readonly Metric[] {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const all = [...Object.values(metricsOfPrograms()).flat(), ...metricsIn(registry)];
  return all.flatMap((metric) => {
    const { name, type, labels } = metric;
    if (type !== 'histogram') return [metric];
    return [
      { ...metric, name: `${name}_bucket`, labels: [...labels, 'le'] },
      { ...metric, name: `${name}_sum` },
      { ...metric, name: `${name}_count` },
    ];
  });
}

/** The first minute in which an alert fires that has to be true for some minutes. */
function firstFiring(series: readonly Series[], forMinutes: number): number | undefined {
  const minutes = series.flatMap(({ values }) =>
    values.flatMap((_, minute) => {
      const start = minute - forMinutes;
      const isFiring = start >= 0 && values.slice(start, minute + 1).every((each) => each !== null);
      return isFiring ? [minute] : [];
    }),
  );
  return minutes.length === 0 ? undefined : Math.min(...minutes);
}

/** The queries that a text makes when it is shown for these labels: as Prometheus expands it. */
function queriesIn(text: string, labels: Readonly<Record<string, string>>): readonly string[] {
  const calls = text.matchAll(/\{\{ with printf `([^`]+)` ((?:\$labels\.\w+ )+)\| query \}\}/g);
  return [...calls].map(([, format = '', given = '']) => {
    const names = [...given.matchAll(/\$labels\.(\w+)/g)].map(([, name = '']) => name);
    return format.replaceAll('%q', () => JSON.stringify(labels[names.shift() ?? '']));
  });
}

/** An expression as Grafana asks it, with everything selected. */
function withoutVariables(expr: string, names: readonly string[]): string {
  const plain = expr.replaceAll('$__rate_interval', '5m');
  return plain.replaceAll(/\$(\w+)/g, (_all, name: string) => {
    assert.ok(names.includes(name), `the dashboard has no variable ${name}`);
    return '.*';
  });
}
