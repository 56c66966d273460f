import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { chartFolder, releaseName, releaseNamespace, render } from './helm.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

type Role = KubeObject & { readonly rules: readonly Rule[] };

type Binding = KubeObject & {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly object[];
};

const itself = { kind: 'ServiceAccount', name: releaseName, namespace: releaseNamespace };
/** The values that give more rights, as the table has them. */
const switches = ['dashboard.enabled', 'replaceLostPods.enabled'] as const;
type Switch = (typeof switches)[number];
/** In no namespace. */
const nodesRole = `${releaseName}-${releaseNamespace}-nodes`;

/** A row of the table, but for its reason. */
function row(rule: Rule, where: string): string {
  const names = (rule.resourceNames ?? []).map(
    (name) => ` \`${name.replace(`${releaseName}-`, '<release>-')}\``,
  );
  const groups = rule.apiGroups.map((group) => (group === '' ? 'core' : group));
  const resources = `${rule.resources.join(', ')}${names.join(',')}`;
  return [groups.join(', '), resources, rule.verbs.join(', '), where].join(' | ');
}

describe('the rights of the operator', () => {
  let rows: readonly (readonly string[])[] = [];

  before(async () => {
    const text = await readFile(join(chartFolder, 'README.md'), 'utf8');
    const [, section = ''] = text.split('\n## What the operator may do\n');
    rows = section
      .split('\n')
      .filter((line) => line.startsWith('| ') && !/^\| (API group|-)/.test(line))
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
    assert.ok(rows.length > 10);
  });

  /** What the table says where some of these values are set. */
  function listed(set: readonly Switch[]): string[] {
    return rows
      .flatMap(([group, resources, verbs, where = '']) => {
        const [place = '', needed] = where.replaceAll('`', '').split(', with ');
        if (needed !== undefined && !set.some((each) => each === needed)) return [];
        return [[group, resources, verbs, place].join(' | ')];
      })
      .sort();
  }

  it('have a reason each', () => {
    for (const cells of rows) {
      assert.equal(cells.length, 5, cells.join());
      assert.notEqual(cells.at(-1), '', cells.join());
    }
  });

  for (const watchNamespaces of [[], ['one', 'two']]) {
    for (const set of [[], ...switches.map((each) => [each]), switches]) {
      const how = watchNamespaces.length === 0 ? 'in the whole cluster' : 'in some namespaces';
      it(`are those of the chart's README, and no others: ${how}, with ${set.join(' and ') || 'the defaults'}`, async () => {
        const objects = await render({
          ...{ watchNamespaces, crds: { enabled: false } },
          dashboard: { enabled: set.includes('dashboard.enabled') },
          replaceLostPods: { enabled: set.includes('replaceLostPods.enabled') },
        });
        const roles = objects.filter(({ kind }) => /^(Cluster)?Role$/.test(kind)) as Role[];
        const bindings = objects.filter(({ kind }) => kind.endsWith('RoleBinding')) as Binding[];
        // Each role is the operator's alone, and it has no other one.
        assert.deepEqual(
          bindings
            .map(({ kind, metadata, roleRef }) =>
              [kind, metadata.namespace, roleRef.kind, roleRef.name].join(),
            )
            .sort(),
          roles
            .map(({ kind, metadata }) =>
              [`${kind}Binding`, metadata.namespace, kind, metadata.name].join(),
            )
            .sort(),
        );
        for (const { subjects } of bindings) assert.deepEqual(subjects, [itself]);
        const places = watchNamespaces.length === 0 ? [undefined] : watchNamespaces;
        for (const place of places) {
          const rendered = roles
            .filter(
              ({ metadata }) =>
                metadata.name === nodesRole ||
                [place, releaseNamespace].includes(metadata.namespace),
            )
            .flatMap(({ metadata: { name, namespace }, rules }) => {
              const where = namespace === place ? 'watched' : 'its own';
              return rules.map((rule) => row(rule, name === nodesRole ? 'all' : where));
            });
          assert.deepEqual(rendered.sort(), listed(set));
        }
        const more = set.includes('replaceLostPods.enabled') ? 1 : 0;
        assert.equal(roles.length, places.length + 1 + more);
      });
    }
  }
});
