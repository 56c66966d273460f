import type { CheckFinding } from '../../sync-api/json.ts';

const schema = 'https://json.schemastore.org/sarif-2.1.0.json';

/** The level of a finding in SARIF. */
const levels = { blocker: 'error', warning: 'warning', advice: 'note' } as const;

/** Findings as a log of SARIF 2.1.0 (OASIS), which continuous integration shows. Namespaces are logical locations. */
export function sarifLog(findings: readonly CheckFinding[]): object {
  const names = [...new Set(findings.map(({ name }) => name))];
  return {
    $schema: schema,
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'clustersync', rules: names.map((id) => ({ id })) } },
        invocations: [{ executionSuccessful: true }],
        results: findings.map((finding) => resultOf(finding, names.indexOf(finding.name))),
      },
    ],
  };
}

function resultOf(
  { severity, name, side, namespaces = [], message, action }: CheckFinding,
  ruleIndex: number,
): object {
  const places = namespaces.map((namespace) => (side ? `${side}/${namespace}` : namespace));
  const all = places.length === 0 && side ? [side] : places;
  const logicalLocations = all.map((fullyQualifiedName) => ({ fullyQualifiedName }));
  return {
    ruleId: name,
    ruleIndex,
    level: levels[severity],
    message: { text: `${message}\n${action}` },
    ...(all.length > 0 && { locations: [{ logicalLocations }] }),
  };
}
